// A program that shares checkpoints with others, for the tests:
//
//   checkpoint save PATH        makes y = x * w + b, and saves graph and
//   variables checkpoint run PATH N       loads both, and prints y for x = [N,
//   N]
#include <rondo/graph.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace {

using namespace rondo;

void save_model(const std::string& path) {
  Graph g;
  const Value x = placeholder(g, {.shape = {kAny}, .name = "x"});
  const Value w = variable(g, constant(g, 3, DType::kF32), {.name = "w"});
  const Value b = variable(g, constant(g, 0, DType::kF32), {.name = "b"});
  identity(x * w + b, "y");
  Session session(g);
  session.run(initializer(g)).value();
  (void)session.run(assign(b, constant(g, 0.5, DType::kF32))).value();
  std::cout << Saver(g).save(session, path).value() << "\n";
}

void run_model(const std::string& path, float n) {
  const auto g = load_graph(path + ".meta");
  Session session(*g);
  Saver(*g).restore(session, path).value();
  const Value x = g->value("x");
  std::cout << session.run(g->value("y"), {{x, Tensor::full<float>({2}, n)}})
                   .value()
                   .to_string()
            << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string verb = argc > 1 ? argv[1] : "";
    if (verb == "save" && argc == 3)
      save_model(argv[2]);
    else if (verb == "run" && argc == 4)
      run_model(argv[2], std::strtof(argv[3], nullptr));
    else
      throw Error(Code::kInvalidArgument, "checkpoint save|run PATH [N]");
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
