#include "rondo/trainer/data_source.h"

#include <algorithm>
#include <filesystem>

#include "rondo/trainer/cifar_files.h"
#include "rondo/trainer/idx_files.h"
#include "rondo/trainer/image_folder.h"
#include "rondo/trainer/synthetic.h"
#include "rondo/trainer/text_file.h"

namespace rondo {
namespace {

constexpr const char* kFashionMnist = "/usr/share/datasets/fashion-mnist";
constexpr const char* kCifar = "cifar-10-batches-bin";

Result<TrainingData> from_fashion_mnist(const DataRequest& request) {
  auto data = load_idx_files(kFashionMnist);
  if (!data.ok())
    return data.status().with_context(
        "fashion-mnist (apt-get install --reinstall dataset-fashion-mnist "
        "puts its files right)");
  data->name = request.data;
  return data;
}

Result<TrainingData> from_cifar(const DataRequest& request) {
  RONDO_ASSIGN_OR_RETURN(TrainingData data, load_cifar_files(kCifar));
  data.name = request.data;
  return data;
}

Result<TrainingData> from_nowhere(const DataRequest& request) {
  if (request.kind == ExampleKind::kText)
    return synthetic_text(request.examples * request.places, request.places);
  return synthetic_images({.side = request.side,
                           .channels = request.channels,
                           .classes = std::min<int64_t>(request.classes, 256),
                           .train = request.examples,
                           .test = std::max<int64_t>(request.examples / 4, 1)});
}

Status find_fashion_mnist() {
  if (has_idx_files(kFashionMnist)) return {};
  return error(Code::kInvalidArgument,
               "--data fashion-mnist: there is no {}: apt-get install "
               "dataset-fashion-mnist",
               kFashionMnist);
}

Status find_cifar() {
  if (has_cifar_files(kCifar)) return {};
  return error(Code::kInvalidArgument,
               "--data cifar10: there is no folder {} here with "
               "data_batch_1.bin; no Debian package has it: unpack "
               "cifar-10-binary.tar.gz, or give its folder with --data DIR",
               kCifar);
}

struct Named {
  const char* name;
  Status (*find)();
  Result<TrainingData> (*load)(const DataRequest&);
};
constexpr Named kNamed[] = {
    {"fashion-mnist", find_fashion_mnist, from_fashion_mnist},
    {"cifar10", find_cifar, from_cifar},
    {"synthetic", [] { return Status(); }, from_nowhere}};

Status find_path(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored) || has_idx_files(path) ||
      has_cifar_files(path) || has_image_folders(path))
    return {};
  if (std::filesystem::is_directory(path, ignored))
    return error(Code::kInvalidArgument,
                 "--data {}: neither train-images-idx3-ubyte[.gz] nor "
                 "data_batch_1.bin nor folders of images are in this folder",
                 path);
  return error(Code::kInvalidArgument,
               "--data {}: no such file or folder; there are fashion-mnist, "
               "cifar10, synthetic, folders with idx or CIFAR-10 files or of "
               "images, and text files",
               path);
}

}  // namespace

Status find_data(const DataRequest& request) {
  for (const Named& named : kNamed)
    if (request.data == named.name) return named.find();
  return find_path(request.data);
}

Result<TrainingData> load_data(const DataRequest& request) {
  RONDO_RETURN_IF_ERROR(find_data(request));
  for (const Named& named : kNamed)
    if (request.data == named.name) return named.load(request);
  if (has_idx_files(request.data)) return load_idx_files(request.data);
  if (has_cifar_files(request.data)) return load_cifar_files(request.data);
  if (has_image_folders(request.data))
    return load_image_folder({.folder = request.data,
                              .side = request.side,
                              .channels = request.channels});
  return load_text_file(request.data, request.places);
}

}  // namespace rondo
