// A graph of one layer, run a few times.
#include <rondo/graph.h>

#include <cstdio>

int main() {
  using namespace rondo;
  Graph g;
  Value b = variable(g, zeros(g, {100}));
  Value w = variable(g, random_uniform(g, {784, 100}, -1, 1));
  Value x = placeholder(g, {.name = "x"});
  Value y = relu(matmul(w, x) + b);
  Value sum = reduce_sum(y);

  Session session(g);
  session.run(initializer(g)).value();
  for (int step = 0; step < 10; ++step) {
    const Tensor input = Tensor::full({100, 100}, 0.1f * float(step));
    const Tensor result = session.run(sum, {{x, input}}).value();
    std::printf("%d %s\n", step, result.to_string().c_str());
  }
}
