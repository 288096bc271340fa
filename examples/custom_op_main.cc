// Loads the library of custom_op.cc and runs its operation:
//   custom_op_main custom_op.so
#include <rondo/graph.h>
#include <rondo/kernels/op_library.h>

#include <cstdio>

int main(int argc, char** argv) try {
  using namespace rondo;
  if (argc != 2) throw Error(Code::kInvalidArgument, "expected a library");
  const std::vector<std::string> names = load_op_library(argv[1]).value();
  for (const std::string& name : names)
    std::printf("loaded %s\n", name.c_str());

  Graph g;
  Value x = placeholder(g, {.shape = {3}, .name = "x"});
  Value y = make("Cube", {x});
  Value dx = dense_gradients({{y}}, {{x}})[0];
  Session session(g);
  const Tensor in = Tensor::of<float>({3}, std::vector<float>{1, 2, 3});
  const std::vector<Tensor> outs = session.run({y, dx}, {{x, in}}).value();
  for (const Tensor& out : outs) std::printf("%s\n", out.to_string().c_str());
} catch (const rondo::Error& e) {
  std::fprintf(stderr, "custom_op: %s\n", e.what());
  return 1;
}
