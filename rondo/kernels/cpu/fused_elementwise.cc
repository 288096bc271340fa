#include "rondo/kernels/cpu/fused_elementwise.h"

#include <charconv>
#include <cstring>

#include "rondo/kernels/cpu/broadcast.h"
#include "rondo/kernels/cpu/fused_kernels.h"
#include "rondo/kernels/layout.h"

namespace rondo {
namespace {

// Elements of a block; with a few blocks of f32 in use the first cache holds
// them.
constexpr int64_t kBlock = 512;
constexpr size_t kBlockBytes = kBlock * sizeof(double);

// Cuts off what comes before the next separator.
std::string_view next(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

template <class T>
bool read(std::string_view text, T& number) {
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && end == text.data() + text.size();
}

// "x1" or "t0" -> an operand, where step k gives operand inputs + k.
bool read_operand(std::string_view text, int inputs, int steps, int& operand) {
  int number = 0;
  if (text.size() < 2 || !read(text.substr(1), number) || number < 0)
    return false;
  operand = text[0] == 'x' ? number : inputs + number;
  return (text[0] == 'x' && number < inputs) ||
         (text[0] == 't' && number < steps);
}

bool read_step(std::string_view text, int inputs, int steps,
               ElementwiseStep& step) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::string_view name = next(text, ' ');
  std::string_view alpha = name;
  name = next(alpha, ':');
  if (!alpha.empty() && !read(alpha, step.alpha)) return false;
  step.unary = unary_named(name);
  const auto binary = binary_named(name);
  if (!step.unary && !binary) return false;
  step.binary = binary.value_or(BinaryOp::kAdd);
  const size_t operands = step.unary ? 1 : 2;
  for (size_t i = 0; i < operands; ++i)
    if (!read_operand(next(text, ' '), inputs, steps, step.from[i]))
      return false;
  if (operands == 1) step.from[1] = step.from[0];
  return text.empty();
}

// Gives each step a block that is free by then.
void share_blocks(ElementwiseProgram& program) {
  auto& steps = program.steps;
  std::vector<size_t> last(steps.size(), 0);
  for (size_t k = 0; k < steps.size(); ++k)
    for (const int from : steps[k].from)
      if (from >= program.inputs)
        last[static_cast<size_t>(from - program.inputs)] = k;
  std::vector<int> free;
  for (size_t k = 0; k < steps.size(); ++k) {
    int freed[2] = {-1, -1};
    for (size_t i = 0; i < 2; ++i) {
      const int from = steps[k].from[i];
      if (from < program.inputs) continue;
      const auto source = static_cast<size_t>(from - program.inputs);
      steps[k].from[i] = program.inputs + steps[source].block;
      if (last[source] == k && freed[0] != steps[source].block)
        freed[i] = steps[source].block;
    }
    for (const int block : freed)
      if (block >= 0) free.push_back(block);
    if (free.empty()) free.push_back(program.blocks++);
    steps[k].block = free.back();
    free.pop_back();
  }
}

class FusedElementwise final : public Kernel {
 public:
  explicit FusedElementwise(const Node& node)
      : program_(
            ElementwiseProgram::parse(node.attrs().get<std::string>("program"),
                                      static_cast<int>(node.inputs().size()))
                .value()) {}

  bool takes_layouts() const override { return true; }
  Status run(KernelContext& c) override {
    const Layout layout = align_layouts(c);
    const Tensor* tensors[Broadcast::kMaxInputs];
    const Shape* shapes[Broadcast::kMaxInputs];
    const auto count = static_cast<size_t>(program_.inputs);
    for (size_t i = 0; i < count; ++i) {
      tensors[i] = &c.input(static_cast<int>(i));
      shapes[i] = &tensors[i]->shape();
    }
    RONDO_ASSIGN_OR_RETURN(const Shape shape,
                           broadcast_shape({tensors, count}));
    const DType dtype = c.input(0).dtype();
    Tensor& out = result(c, dtype, shape);
    out.set_layout(layout);
    if (out.count() == 0) return {};
    RONDO_ASSIGN_OR_RETURN(const Broadcast plan,
                           plan_broadcast(shape, {shapes, count}));
    const auto size = static_cast<int64_t>(size_of(dtype));
    const char* data[Broadcast::kMaxInputs];
    for (size_t i = 0; i < count; ++i)
      data[i] = static_cast<const char*>(c.input(static_cast<int>(i)).data());
    auto* const to = static_cast<char*>(out.data());
    for_each_row(
        plan, [&](const Broadcast::Steps& at, int64_t first, int64_t n) {
          const char* from[Broadcast::kMaxInputs];
          for (int64_t done = 0; done < n; done += kBlock) {
            for (size_t i = 0; i < count; ++i)
              from[i] = data[i] + (at[i] + done * plan.inner_step()[i]) * size;
            run_block(dtype, from, plan.inner_step(),
                      to + (first + done) * size, std::min(kBlock, n - done));
          }
        });
    return {};
  }

 private:
  // In the memory of an input that is as large and nobody else's.
  Tensor& result(KernelContext& c, DType dtype, const Shape& shape) const {
    const auto bytes = static_cast<size_t>(shape.count()) * size_of(dtype);
    for (int i = 0; i < program_.inputs; ++i)
      if (c.input(i).bytes() == bytes && c.input(i).unique())
        return c.allocate_or_reuse(0, i, dtype, shape);
    return c.allocate(0, dtype, shape);
  }

  void run_block(DType dtype, const char* const* inputs,
                 const Broadcast::Steps& steps, char* out, int64_t n) const {
    alignas(64)
        std::byte blocks[static_cast<size_t>(ElementwiseProgram::kMostBlocks)]
                        [kBlockBytes];
    alignas(64) std::byte filled[2][kBlockBytes];
    for (const ElementwiseStep& step : program_.steps) {
      const bool is_last = &step == &program_.steps.back();
      void* to = is_last ? static_cast<void*>(out)
                         : blocks[static_cast<size_t>(step.block)];
      const void* from[2];
      int64_t each[2];
      for (size_t i = 0; i < 2; ++i) {
        const auto operand = static_cast<size_t>(step.from[i]);
        const bool is_input = step.from[i] < program_.inputs;
        from[i] = is_input
                      ? static_cast<const void*>(inputs[operand])
                      : blocks[operand - static_cast<size_t>(program_.inputs)];
        each[i] = is_input ? steps[operand] : 1;
      }
      // Loops that take whole rows only.
      const bool whole = step.unary || is_gradient(step.binary) ||
                         (each[0] == 0 && each[1] == 0);
      for (size_t i = 0; whole && i < (step.unary ? 1 : 2); ++i)
        if (each[i] == 0) {
          fill(filled[i], from[i], size_of(dtype), n);
          from[i] = filled[i];
          each[i] = 1;
        }
      if (step.unary)
        unary_loop(*step.unary, dtype, from[0], to, n, step.alpha);
      else
        binary_loop(step.binary, dtype,
                    {from[0], from[1], to, each[0], each[1], n, step.alpha});
    }
  }

  static void fill(std::byte* to, const void* element, size_t size, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(to + static_cast<size_t>(i) * size, element, size);
  }

  const ElementwiseProgram program_;
};

}  // namespace

Result<ElementwiseProgram> ElementwiseProgram::parse(std::string_view text,
                                                     int inputs) {
  ElementwiseProgram program{.inputs = inputs};
  if (inputs > Broadcast::kMaxInputs)
    return error(Code::kInvalidArgument,
                 "it has {} inputs, and {} are the most it may have", inputs,
                 Broadcast::kMaxInputs);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next(rest, ';');
    ElementwiseStep step;
    if (!read_step(line, inputs, static_cast<int>(program.steps.size()), step))
      return error(Code::kInvalidArgument,
                   "the program \"{}\" has the step \"{}\", which is none",
                   text, line);
    program.steps.push_back(step);
  }
  if (program.steps.empty())
    return error(Code::kInvalidArgument, "the program is empty");
  share_blocks(program);
  if (program.blocks > kMostBlocks)
    return error(Code::kInvalidArgument,
                 "the program \"{}\" needs {} blocks, and {} are the most it "
                 "may have",
                 text, program.blocks, kMostBlocks);
  return program;
}

void register_fused_elementwise_kernels(KernelRegistry& kernels) {
  kernels.add("FusedElementwise", "cpu", from_class<FusedElementwise>());
}

}  // namespace rondo
