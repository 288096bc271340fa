#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/tensor_text.h"

namespace rondo {
namespace {

using Texts = std::vector<std::string>;

// In one piece, so that lines of several threads and ranks do not mix. Who
// closed the stream does not want to know.
void write_text(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

std::string_view text_at(const Texts& texts, int i) {
  const auto at = static_cast<size_t>(i);
  return at < texts.size() ? std::string_view(texts[at]) : std::string_view();
}

class PrintCount final : public Resource {
 public:
  std::atomic<int64_t> printed{0};
};

class Print final : public Kernel {
 public:
  Print(const Node& node, Resources& resources)
      : message_(node.attrs().get<std::string>("message")),
        texts_(node.attrs().get<Texts>("texts")),
        first_n_(node.attrs().get<int64_t>("first_n")),
        summarize_(node.attrs().get<int64_t>("summarize")),
        count_(resources.find_or_make<PrintCount>("print/" + node.name())
                   .value()) {}

  Status run(KernelContext& c) override {
    if (first_n_ < 0 || count_->printed++ < first_n_) {
      std::string line = message_;
      for (int i = 1; i < c.inputs(); ++i) {
        line += text_at(texts_, i - 1);
        line += first_elements(c.input(i), summarize_);
      }
      line += text_at(texts_, c.inputs() - 1);
      write_text(STDERR_FILENO, line + "\n");
    }
    c.set_output(0, c.input(0));
    return {};
  }

 private:
  const std::string message_;
  const Texts texts_;
  const int64_t first_n_;
  const int64_t summarize_;
  const std::shared_ptr<PrintCount> count_;  // of the session
};

Status run_line(const Node& node, KernelContext& c) {
  const auto& texts = node.attrs().get<Texts>("texts");
  const int64_t summarize = node.attrs().get<int64_t>("summarize");
  std::string line;
  for (int i = 0; i < c.inputs(); ++i) {
    line += text_at(texts, i);
    line += nested_elements(c.input(i), summarize);
  }
  line += text_at(texts, c.inputs());
  const bool out = node.attrs().get<std::string>("output_stream") == "stdout";
  write_text(out ? STDOUT_FILENO : STDERR_FILENO, line);
  return {};
}

Status run_assert(const Node& node, KernelContext& c) {
  if (c.input(0).count() != 1)
    return error(Code::kInvalidArgument,
                 "condition has shape {}, expected a scalar",
                 c.input(0).shape().to_string());
  if (c.input(0).span<bool>()[0]) return {};
  const auto& texts = node.attrs().get<Texts>("texts");
  const int64_t summarize = node.attrs().get<int64_t>("summarize");
  std::string what = "assertion failed:";
  auto add = [&](std::string_view text) {
    if (!text.empty()) what += fmt::format(" {}", text);
  };
  for (int i = 1; i < c.inputs(); ++i) {
    add(text_at(texts, i - 1));
    add(first_elements(c.input(i), summarize));
  }
  add(text_at(texts, c.inputs() - 1));
  return Status(Code::kInvalidArgument, what);
}

}  // namespace

void register_print_kernels(KernelRegistry& kernels) {
  kernels.add("Print", "cpu", from_class<Print>());
  kernels.add("PrintLine", "cpu", from_function(run_line));
  kernels.add("Assert", "cpu", from_function(run_assert));
}

}  // namespace rondo
