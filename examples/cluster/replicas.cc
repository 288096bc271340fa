// Data parallel, between graphs: every worker has its own client and graph, and
// shares the variables, which are on a parameter server.
//
//   cluster="ps=h0:2222;worker=h1:2222,h2:2222"
//   replicas "$cluster" ps 0
//   replicas "$cluster" worker 0 [sync]
//   replicas "$cluster" worker 1 [sync]
//
// Each worker applies its gradients as soon as it has them; with "sync" all
// wait for each other, and the average of their gradients is applied.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "circle.h"

using namespace circle;

namespace {

constexpr int kSteps = 300;

// How workers that wait for each other make a step. Each gives its gradients to
// accumulators on the server, then waits for a token. The chief takes their
// averages, applies them, and puts in a token for each worker: the number of
// the step that follows.
struct Together {
  Together(Graph& g, const std::vector<GradientAndVariable>& gradients,
           int64_t workers, Value step, const std::string& server)
      : now(placeholder(g, {.dtype = DType::kI64, .name = "now"})) {
    const DeviceScope scope(g, server);
    const FIFOQueue tokens(
        g, {DType::kI64},
        {.shapes = {PartialShape(Shape{})}, .shared_name = "tokens"});
    std::vector<Node*> given;
    std::vector<GradientAndVariable> averages;
    for (const auto& [gradient, variable] : gradients) {
      // Accumulators of one name are one, whichever graph they are in.
      const ConditionalAccumulator sum(
          g, {.shape = variable.shape(),
              .shared_name = variable_name(variable) + "/gradient"});
      given.push_back(&sum.apply_grad(gradient.values, now));
      averages.push_back({sum.take_grad(constant(
                              g, static_cast<double>(workers), DType::kI64)),
                          variable});
    }
    {
      const ControlScope after(g, given);
      next = tokens.dequeue()[0];
    }
    GradientDescent descent({.learning_rate = 0.3});
    const ControlScope after(g, {&descent.apply_gradients(averages, step)});
    apply = &tokens.enqueue_many(
        {fill(constant_ints(g, {workers}), read_variable(step))});
  }
  Value now;              // the step whose gradients the worker gives: fed
  Value next;             // the one after it
  Node* apply = nullptr;  // the chief's part
};

Tensor scalar(int64_t value) {
  Tensor made = Tensor::empty({}, DType::kI64);
  made.span<int64_t>()[0] = value;
  return made;
}

// Until the chief has given all variables their values.
void wait_for_chief(Session& session, const std::vector<Value>& variables) {
  std::vector<Value> there;
  for (const Value& variable : variables)
    there.push_back(is_initialized(variable));
  auto all = [&] {
    const auto seen = session.run(there, {}).value();
    return std::ranges::all_of(
        seen, [](const Tensor& t) { return t.span<bool>()[0]; });
  };
  while (!all()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void work(const Server& server, const ClusterOptions& common, bool sync) {
  const int task = server.task().index;
  const std::string here = server.task().to_string(), ps = "/job:ps/task:0";
  const auto workers =
      static_cast<int64_t>(server.cluster().jobs().at("worker").size());
  Graph g;
  g.set_seed(1);
  const DeviceScope on_worker(g, here);
  const Inputs inputs(g);
  std::optional<Perceptron> model;
  Value step;
  {
    const DeviceScope on_server(g, ps);
    model.emplace(g);
    step = variable(g, zeros(g, {}, DType::kI64),
                    {.name = "step", .trainable = false});
  }
  Value loss = models::loss(inputs.inside, (*model)(inputs.points));
  const auto gradients = Optimizer::compute_gradients(loss, model->variables());
  // Without momentum, which would amplify gradients that come late.
  GradientDescent descent({.learning_rate = 0.3});
  Node* update = nullptr;
  std::optional<Together> together;
  if (sync)
    together.emplace(g, gradients, workers, step, ps);
  else
    update = &descent.apply_gradients(gradients, step);

  // The other workers need not be up.
  const auto session = open_session(g, server.target(), common,
                                    {.device_filters = {"/job:ps", here}})
                           .value();
  if (task == 0) session->run(initializer(g)).value();
  auto variables = model->variables();
  variables.push_back(step);
  wait_for_chief(*session, variables);

  std::thread chief;
  if (sync && task == 0)
    chief = std::thread([&] {
      for (int i = 0; i < kSteps; ++i) session->run(*together->apply).value();
    });
  std::mt19937 random(static_cast<unsigned>(task + 1));
  // With sync this is the step that all are at: a worker that is quick may have
  // had a share in it more than once.
  int64_t now = 0, said = 0;
  while (now < kSteps) {
    auto feeds = inputs.next(random);
    if (sync) feeds.push_back({together->now, scalar(now)});
    const auto out = sync ? session->run({loss, together->next}, feeds).value()
                          : session->run({loss}, feeds, {update}).value();
    now = sync ? out[1].span<int64_t>()[0] : now + 1;
    if (now < said && now < kSteps) continue;
    std::printf("step %d: loss %.4f\n", static_cast<int>(now),
                out[0].span<float>()[0]);
    said += kSteps / 3;
  }
  if (chief.joinable()) chief.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "replicas CLUSTER JOB TASK [sync]\n");
    return 2;
  }
  const auto cluster = ClusterSpec::parse(argv[1]).value();
  const auto common = ClusterOptions::from(Env::process()).value();
  const TaskName task{argv[2], std::stoi(argv[3])};
  const auto server = Server::start(cluster, task, {.common = common}).value();
  if (task.job == "ps")
    server->join();
  else
    work(*server, common, argc > 4);
}
