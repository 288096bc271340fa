// FusedMatMul; FusedConv2D is among the convolutions.
#include "rondo/kernels/cpu/fused_kernels.h"
#include "rondo/kernels/cpu/matmul_primitive.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace {

class FusedMatMul final : public Kernel {
 public:
  explicit FusedMatMul(const Node& node)
      : transposed_{.transpose_a = node.attrs().get<bool>("transpose_a"),
                    .transpose_b = node.attrs().get<bool>("transpose_b")},
        primitives_(Epilogue::of(node)) {}

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
    return primitives_.run(c, s, a.data(), b.data(), bias.data(), y.data());
  }

 private:
  const GemmShape transposed_;
  MatMulPrimitives primitives_;
};

}  // namespace

void register_fused_kernels(KernelRegistry& kernels) {
  kernels.add("FusedMatMul", "cpu", from_class<FusedMatMul>());
  register_fused_elementwise_kernels(kernels);
}

}  // namespace rondo
