// Elements from files.
#include <glob.h>

#include "rondo/train/data/component.h"
#include "rondo/train/data/record_reader.h"
#include "rondo/train/data/stages.h"

namespace rondo {
namespace {

DataTypes bytes_types() { return {{DType::kU8, PartialShape{kAny}}}; }

// A list of paths that is known when the first is asked for.
class PathsStage final : public DataStage {
 public:
  using List = std::function<Result<std::vector<std::string>>()>;
  PathsStage(std::string_view name, List list)
      : DataStage(name, bytes_types()), list_(std::move(list)) {}

  DataStreamPtr open(const DataRun& run) const override {
    return std::make_unique<Stream>(*this, run);
  }

 private:
  class Stream final : public DataStream {
   public:
    Stream(const PathsStage& stage, const DataRun& run)
        : DataStream(stage.name(), run), stage_(stage) {}

   protected:
    NextElement produce() override {
      if (!listed_) {
        auto paths = stage_.list_();
        if (!paths.ok()) return fault(paths.status());
        paths_ = std::move(*paths);
        listed_ = true;
      }
      if (next_ == paths_.size()) return std::optional<DataElement>();
      return std::optional(DataElement{bytes_component(paths_[next_++])});
    }

   private:
    const PathsStage& stage_;
    bool listed_ = false;
    std::vector<std::string> paths_;
    size_t next_ = 0;
  };

  const List list_;
};

Result<std::vector<std::string>> matching(const std::string& pattern) {
  glob_t found{};
  const int code = glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths;
  if (code == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (code == GLOB_NOSPACE)
    return error(Code::kResource, "no memory to look for \"{}\"", pattern);
  if (code != 0)
    return error(Code::kInvalidArgument, "no file matches \"{}\"", pattern);
  return paths;
}

// The records of the files that the input names, one file after another.
class RecordsStage final : public DataStage {
 public:
  RecordsStage(std::string_view name, DataStagePtr paths,
               Compression compression, RecordReaderMaker make,
               PartialShape shape)
      : DataStage(name, {{DType::kU8, std::move(shape)}}),
        paths_(std::move(paths)),
        compression_(compression),
        make_(std::move(make)) {
    const DataTypes& types = paths_->types();
    if (types.size() != 1 || types[0].dtype != DType::kU8 ||
        !types[0].shape.compatible(PartialShape{kAny}))
      throw Error(Code::kInvalidArgument,
                  fmt::format("Dataset.{}: the paths must be elements of one "
                              "vector of u8, as list_files gives them",
                              name));
  }

  DataStreamPtr open(const DataRun& run) const override {
    return std::make_unique<Stream>(*this, run);
  }

 private:
  class Stream final : public DataStream {
   public:
    Stream(const RecordsStage& stage, const DataRun& run)
        : DataStream(stage.name(), run),
          stage_(stage),
          paths_(stage.paths_->open(run)) {}

   protected:
    NextElement produce() override {
      for (;;) {
        if (cancelled()) return cancel_reason();
        if (!reader_) {
          NextElement path = paths_->next();
          if (!path.ok() || !*path) return path;
          const Tensor& bytes = (**path)[0];
          auto file = InputFile::open(
              std::string(static_cast<const char*>(bytes.data()),
                          bytes.bytes()),
              stage_.compression_);
          if (!file.ok()) return fault(file.status());
          reader_ = stage_.make_(std::move(*file));
        }
        auto record = reader_->next();
        // What is behind a bad place in a file is not to be trusted.
        if (!record.ok() || !*record) reader_.reset();
        if (!record.ok()) return fault(record.status());
        if (*record) return std::optional(DataElement{std::move(**record)});
      }
    }

   private:
    const RecordsStage& stage_;
    DataStreamPtr paths_;
    std::unique_ptr<RecordReader> reader_;
  };

  const DataStagePtr paths_;
  const Compression compression_;
  const RecordReaderMaker make_;
};

}  // namespace

DataStagePtr list_files_stage(std::string pattern) {
  return std::make_shared<PathsStage>(
      "list_files",
      [pattern = std::move(pattern)] { return matching(pattern); });
}

DataStagePtr paths_stage(const std::vector<std::string>& paths) {
  return std::make_shared<PathsStage>(
      "paths", [paths]() -> Result<std::vector<std::string>> { return paths; });
}

DataStagePtr text_line_stage(DataStagePtr paths, Compression compression) {
  return std::make_shared<RecordsStage>("text_line", std::move(paths),
                                        compression, line_reader,
                                        PartialShape{kAny});
}

DataStagePtr fixed_length_stage(DataStagePtr paths,
                                const FixedLengthOptions& options) {
  if (options.record_bytes < 1)
    throw Error(Code::kInvalidArgument,
                fmt::format("Dataset.fixed_length_record: record_bytes is {}, "
                            "expected at least 1",
                            options.record_bytes));
  if (options.header_bytes < 0 || options.footer_bytes < 0)
    throw Error(Code::kInvalidArgument,
                "Dataset.fixed_length_record: header_bytes or footer_bytes is "
                "negative");
  return std::make_shared<RecordsStage>(
      "fixed_length_record", std::move(paths), options.compression,
      [options](std::unique_ptr<InputFile> file) {
        return fixed_length_reader(std::move(file), options);
      },
      PartialShape{options.record_bytes});
}

DataStagePtr tf_record_stage(DataStagePtr paths, Compression compression) {
  return std::make_shared<RecordsStage>("tf_record", std::move(paths),
                                        compression, tf_record_reader,
                                        PartialShape{kAny});
}

}  // namespace rondo
