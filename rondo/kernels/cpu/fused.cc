// FusedMatMul; FusedConv2D is among the convolutions.
#include <list>
#include <memory>
#include <mutex>

#include "rondo/kernels/cpu/fused_kernels.h"
#include "rondo/kernels/cpu/matmul_primitive.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace {

class FusedMatMul final : public Kernel {
 public:
  explicit FusedMatMul(const Node& node)
      : transposed_{.transpose_a = node.attrs().get<bool>("transpose_a"),
                    .transpose_b = node.attrs().get<bool>("transpose_b")},
        epilogue_(Epilogue::of(node)) {}

  Status run(KernelContext& c) override {
    Tensor a = c.input(0);
    Tensor b = c.input(1);
    const Tensor& bias = c.input(2);
    GemmShape s = transposed_;
    RONDO_RETURN_IF_ERROR(find_sides(a, b, s));
    if (bias.count() != s.n)
      return error(Code::kInvalidArgument,
                   "the product has {} columns, the bias {} elements", s.n,
                   bias.count());
    Tensor& y = c.allocate(0, a.dtype(), {s.m, s.n});
    if (y.count() == 0) return {};
    if (s.k == 0) {
      // oneDNN would leave the result as it is; a column of zeros is the same.
      s.k = 1;
      a = Tensor::zeros({s.m}, a.dtype());
      b = Tensor::zeros({s.n}, b.dtype());
    }
    try {
      const PreparedPtr prepared = prepare(s);
      Tensor workspace = c.scratch(
          DType::kU8,
          {static_cast<int64_t>(prepared->primitive->workspace_bytes())});
      prepared->primitive->execute(a.data(), b.data(), bias.data(), y.data(),
                                   workspace.data());
    } catch (const dnnl::error& e) {
      return error(Code::kInternal, "oneDNN: {}", e.what());
    }
    return {};
  }

 private:
  struct Prepared {
    GemmShape shape;
    int threads = 0;
    std::optional<MatMulPrimitive> primitive;
  };
  using PreparedPtr = std::shared_ptr<const Prepared>;

  PreparedPtr prepare(const GemmShape& s) {
    const int threads = intra_op_threads();
    const std::lock_guard lock(mutex_);
    for (const PreparedPtr& p : prepared_)
      if (p->threads == threads && p->shape == s) return p;
    auto made = std::make_shared<Prepared>();
    made->shape = s;
    made->threads = threads;
    made->primitive =
        MatMulPrimitive::make(s, dnnl::memory::data_type::f32, epilogue_);
    if (!made->primitive)
      throw dnnl::error(dnnl_unimplemented, "no such product of matrices");
    prepared_.push_front(made);
    if (prepared_.size() > kKept) prepared_.pop_back();
    return made;
  }

  static constexpr size_t kKept = 16;

  const GemmShape transposed_;
  const Epilogue epilogue_;
  std::mutex mutex_;
  std::list<PreparedPtr> prepared_;  // guarded by mutex_
};

}  // namespace

void register_fused_kernels(KernelRegistry& kernels) {
  kernels.add("FusedMatMul", "cpu", from_class<FusedMatMul>());
  register_fused_elementwise_kernels(kernels);
}

}  // namespace rondo
