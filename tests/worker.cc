// A rank that does what its arguments say, one after the other, for the tests
// that need real processes:
//
//   worker --buffers mapped allreduce:f32:1000 barrier say:done
//
// A step is a collective, OPERATION[:DTYPE[:COUNT[:WHO]]] (WHO is a root, a
// peer or an algorithm), whose result is checked, or one of the other verbs
// below. At the first error the rank prints
//
//   error SECONDS CODE MESSAGE
//
// (the monotonic clock's seconds, the message on one line) and ends with exit
// code 0, or with --fail 1, so that a launcher does not hide the other ranks'.
// With --linger it stays until its standard input ends, and its communicator
// with it.
#include <dirent.h>
#include <rondo/rondo.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

using rondo::Communicator;
using rondo::DType;
using rondo::Error;
using rondo::View;

struct Step {
  std::vector<std::string> words;
  const std::string& verb() const { return words[0]; }
  std::string word(size_t i, const char* otherwise) const {
    return i < words.size() ? words[i] : otherwise;
  }
  int64_t number(size_t i, int64_t otherwise) const {
    return i < words.size() ? std::stoll(words[i]) : otherwise;
  }
  DType dtype() const { return rondo::dtype_from_name(word(1, "f32")).value(); }
  int64_t count() const { return number(2, 1); }
  int who() const { return static_cast<int>(number(3, 0)); }
};

Step parse(const std::string& text) {
  Step step;
  size_t at = 0;
  for (;;) {
    const size_t colon = text.find(':', at);
    step.words.push_back(text.substr(at, colon - at));
    if (colon == std::string::npos) return step;
    at = colon + 1;
  }
}

// Memory of either kind, and the part of it that is in use.
struct Buffer {
  rondo::Tensor mapped;
  std::vector<char> foreign;
  View view;
  size_t capacity;
  Buffer(bool in_heap, int64_t count, DType dtype)
      : capacity(static_cast<size_t>(count) * rondo::size_of(dtype)) {
    if (in_heap) {
      mapped = rondo::Tensor::empty({count}, dtype);
      view = mapped;
    } else {
      foreign.resize(capacity + 1);
      view = {foreign.data(), count, dtype};
    }
  }
};

// Calls f with a null pointer of the dtype's C++ type.
template <class F>
void with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::kF64: return f(static_cast<double*>(nullptr));
    case DType::kF32: return f(static_cast<float*>(nullptr));
    case DType::kI64: return f(static_cast<int64_t*>(nullptr));
    case DType::kI32: return f(static_cast<int32_t*>(nullptr));
    case DType::kU8: return f(static_cast<uint8_t*>(nullptr));
    default: throw std::runtime_error("the worker has no such dtype");
  }
}

// Element i of rank r's input. Sums over few ranks fit every dtype.
int64_t value(int rank, int64_t i) { return (rank + 1) * (i % 7 + 1); }

void fill(const View& view, int rank) {
  with_type(view.dtype, [&]<class T>(T*) {
    T* data = static_cast<T*>(view.data);
    for (int64_t i = 0; i < view.count; ++i)
      data[i] = static_cast<T>(value(rank, i));
  });
}

// Every element of short vectors; of long ones the ends and a sample.
void check(const View& view, const std::string& what,
           const std::function<int64_t(int64_t)>& expected) {
  with_type(view.dtype, [&]<class T>(T*) {
    const T* data = static_cast<const T*>(view.data);
    for (int64_t i = 0; i < view.count; ++i) {
      if (i > 5000 && i < view.count - 5000 && i % 997 != 0) continue;
      if (data[i] == static_cast<T>(expected(i))) continue;
      std::printf("wrong %s: element %" PRId64 " is %g, not %" PRId64 "\n",
                  what.c_str(), i, static_cast<double>(data[i]), expected(i));
      std::fflush(stdout);
      _exit(3);
    }
  });
}

class Worker {
 public:
  Worker(Communicator comm, bool mapped)
      : comm_(std::move(comm)), mapped_(mapped) {}

  void run(const std::vector<Step>& steps, size_t from = 0) {
    for (size_t i = from; i < steps.size(); ++i) {
      if (steps[i].verb() == "forever")
        for (;;) run(steps, i + 1);
      if (steps[i].verb() == "times") {
        for (int64_t k = steps[i].number(1, 1); k > 0; --k) run(steps, i + 1);
        return;
      }
      step(steps[i]);
    }
  }

  void linger() {
    say("lingering");
    await();
  }

 private:
  void step(const Step& s) {
    const int n = comm_.valid() ? comm_.size() : 0;
    const int me = comm_.valid() ? comm_.rank() : 0;
    const int64_t sum = n * (n + 1) / 2;
    const std::string& verb = s.verb();
    if (verb == "say") return say(s.word(1, ""));
    if (verb == "await") return await();
    if (verb == "usage") return usage();
    if (verb == "listens") return listens();
    if (verb == "transports") return transports();
    if (verb == "leave") return leave();
    if (verb == "sub") return sub();
    if (verb == "die") _exit(static_cast<int>(s.number(1, 0)));
    if (verb == "barrier") return comm_.barrier().value();
    if (verb == "cycles") return cycles(s.number(1, 1));
    if (verb == "split") return split(static_cast<int>(s.number(1, 0)));
    if (verb == "huge") return huge(s.number(1, 1));
    if (verb == "allreduce") {
      Buffer& x = in(s.count(), s.dtype());
      fill(x.view, me);
      const std::string algorithm = s.word(3, "");
      comm_.allreduce(x.view, {.algorithm = algorithm}).value();
      return check(x.view, verb, [&](int64_t i) { return sum * (i % 7 + 1); });
    }
    if (verb == "reduce") {
      Buffer& x = in(s.count(), s.dtype());
      Buffer& y = out(s.count(), s.dtype());
      fill(x.view, me);
      comm_.reduce(x.view, y.view, {.root = s.who()}).value();
      if (me != s.who()) return;
      return check(y.view, verb, [&](int64_t i) { return sum * (i % 7 + 1); });
    }
    if (verb == "broadcast") {
      Buffer& x = in(s.count(), s.dtype());
      fill(x.view, me);
      comm_.broadcast(x.view, {.root = s.who()}).value();
      return check(x.view, verb, [&](int64_t i) { return value(s.who(), i); });
    }
    if (verb == "allgather" || verb == "gather") {
      Buffer& x = in(s.count(), s.dtype());
      Buffer& y = out(s.count() * n, s.dtype());
      fill(x.view, me);
      const bool all = verb == "allgather";
      if (all)
        comm_.allgather(x.view, y.view).value();
      else
        comm_.gather(x.view, y.view, {.root = s.who()}).value();
      if (!all && me != s.who()) return;
      return check(y.view, verb, [&](int64_t i) {
        return value(static_cast<int>(i / s.count()), i % s.count());
      });
    }
    if (verb == "allgatherv") {  // rank r gives count + r
      std::vector<int64_t> counts(static_cast<size_t>(n));
      std::iota(counts.begin(), counts.end(), s.count());
      Buffer& x = in(s.count() + me, s.dtype());
      Buffer& y = out(std::accumulate(counts.begin(), counts.end(), int64_t{}),
                      s.dtype());
      fill(x.view, me);
      comm_.allgatherv(x.view, y.view, counts).value();
      return check(y.view, verb, [&](int64_t i) {
        int r = 0;
        for (; i >= counts[static_cast<size_t>(r)]; ++r)
          i -= counts[static_cast<size_t>(r)];
        return value(r, i);
      });
    }
    if (verb == "reduce_scatter") {
      Buffer& x = in(s.count() * n, s.dtype());
      Buffer& y = out(s.count(), s.dtype());
      fill(x.view, me);
      comm_.reduce_scatter(x.view, y.view).value();
      return check(y.view, verb, [&](int64_t i) {
        return sum * ((me * s.count() + i) % 7 + 1);
      });
    }
    if (verb == "scatter") {
      Buffer& x = in(s.count() * n, s.dtype());
      Buffer& y = out(s.count(), s.dtype());
      fill(x.view, me);
      comm_.scatter(x.view, y.view, {.root = s.who()}).value();
      return check(y.view, verb, [&](int64_t i) {
        return value(s.who(), me * s.count() + i);
      });
    }
    if (verb == "all_to_all" || verb == "all_to_allv") {
      Buffer& x = in(s.count() * n, s.dtype());
      Buffer& y = out(s.count() * n, s.dtype());
      fill(x.view, me);
      const std::vector<int64_t> counts(static_cast<size_t>(n), s.count());
      if (verb == "all_to_all")
        comm_.all_to_all(x.view, y.view).value();
      else
        comm_.all_to_allv(x.view, counts, y.view, counts).value();
      return check(y.view, verb, [&](int64_t i) {
        return value(static_cast<int>(i / s.count()),
                     me * s.count() + i % s.count());
      });
    }
    if (verb == "send") {
      Buffer& x = in(s.count(), s.dtype());
      fill(x.view, me);
      return comm_.send(x.view, s.who()).value();
    }
    if (verb == "recv") {
      Buffer& x = in(s.count(), s.dtype());
      comm_.recv(x.view, s.who()).value();
      return check(x.view, verb, [&](int64_t i) { return value(s.who(), i); });
    }
    if (verb == "exchange") {  // sendrecv around the ring
      Buffer& x = in(s.count(), s.dtype());
      Buffer& y = out(s.count(), s.dtype());
      fill(x.view, me);
      const int left = (me + n - 1) % n;
      comm_.sendrecv(x.view, (me + 1) % n, y.view, left).value();
      return check(y.view, verb, [&](int64_t i) { return value(left, i); });
    }
    throw std::runtime_error("the worker does not know the step " + verb);
  }

  static void say(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }

  // Until the test writes a line. Its end counts as one: no rank outlives it.
  static void await() {
    std::string line;
    std::getline(std::cin, line);
  }

  // The addresses on which this process's host listens.
  static void listens() {
    std::ifstream table("/proc/net/tcp");
    std::string line;
    while (std::getline(table, line)) {
      unsigned address = 0;
      unsigned port = 0;
      unsigned state = 0;
      if (std::sscanf(line.c_str(), " %*d: %x:%x %*x:%*x %x", &address, &port,
                      &state) == 3 &&
          state == 0x0a)
        std::printf("listens %u.%u.%u.%u:%u\n", address & 255,
                    address >> 8 & 255, address >> 16 & 255, address >> 24,
                    port);
    }
  }

  // CPU seconds, private and shared resident KiB, open descriptors.
  static void usage() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds_of = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) +
             1e-6 * static_cast<double>(t.tv_usec);
    };
    std::map<std::string, long> memory;
    std::ifstream rollup("/proc/self/smaps_rollup");
    std::string line;
    while (std::getline(rollup, line)) {
      char key[64];
      long kib = 0;
      if (std::sscanf(line.c_str(), "%63[^:]: %ld kB", key, &kib) == 2)
        memory[key] = kib;
    }
    int descriptors = 0;
    if (DIR* dir = opendir("/proc/self/fd")) {
      while (readdir(dir) != nullptr) ++descriptors;
      closedir(dir);
    }
    std::printf("usage cpu=%.3f rss=%ld pss=%ld anonymous=%ld fds=%d\n",
                seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                memory["Rss"], memory["Pss"], memory["Anonymous"], descriptors);
    std::fflush(stdout);
  }

  void transports() {
    std::string text = "transports";
    for (int peer = 0; peer < comm_.size(); ++peer)
      text.append(1, ' ').append(comm_.transport_to(peer));
    say(text);
  }

  void leave() { comm_ = {}; }

  // Goes on with a sub-group of all, and keeps the old one.
  void sub() {
    outer_ = comm_;
    comm_ = comm_.split(0).value();
  }

  // Makes and destroys sub-groups; in turn one rank or the other is done first.
  void cycles(int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      auto sub = comm_.split(0, comm_.rank()).value();
      float x = 1;
      const bool speak = k % 2 == comm_.rank() % 2;
      sub.allreduce(View(&x, 1, DType::kF32)).value();
      if (speak) sub = {};
      if (x != static_cast<float>(comm_.size())) say("wrong sum in a cycle");
    }
  }

  void split(int color) {
    auto sub = comm_.split(color).value();
    if (!sub.valid()) return;
    std::vector<int64_t> one{1};
    sub.allreduce(one).value();
    if (one[0] != sub.size()) say("wrong sum in a split");
  }

  // A maximum over tensors of which only a few elements are not zero.
  void huge(int64_t count) {
    Buffer x(mapped_, count, DType::kU8);
    auto* data = static_cast<uint8_t*>(x.view.data);
    const int64_t places[] = {0, (int64_t{1} << 31) - 1, int64_t{1} << 31,
                              count - 1};
    for (const int64_t at : places)
      if (at < count) data[at] = static_cast<uint8_t>(10 + comm_.rank());
    const int64_t own = count / 2 + comm_.rank();
    data[own] = 99;
    comm_.allreduce(x.view, {.op = rondo::ReduceOp::kMax}).value();
    for (const int64_t at : places)
      if (at < count && data[at] != 10 + comm_.size() - 1) say("wrong maximum");
    for (int r = 0; r < comm_.size(); ++r)
      if (data[count / 2 + r] != 99) say("wrong maximum in the middle");
  }

  Buffer& in(int64_t count, DType dtype) { return keep(in_, count, dtype); }
  Buffer& out(int64_t count, DType dtype) { return keep(out_, count, dtype); }
  Buffer& keep(std::unique_ptr<Buffer>& kept, int64_t count, DType dtype) {
    const size_t bytes = static_cast<size_t>(count) * rondo::size_of(dtype);
    if (!kept || kept->capacity < bytes)
      kept = std::make_unique<Buffer>(mapped_, count, dtype);
    kept->view.count = count;
    kept->view.dtype = dtype;
    return *kept;
  }

  Communicator outer_;
  Communicator comm_;
  const bool mapped_;
  std::unique_ptr<Buffer> in_;
  std::unique_ptr<Buffer> out_;
};

void report(const Error& e) {
  std::string text = e.what();
  std::replace(text.begin(), text.end(), '\n', '|');
  const auto now = rondo::Clock::now().time_since_epoch();
  std::printf("error %.6f %s %s\n", std::chrono::duration<double>(now).count(),
              std::string(rondo::code_name(e.code())).c_str(), text.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool mapped = true;
  int fail = 0;
  bool linger = false;
  std::vector<Step> steps;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--buffers")
      mapped = std::string(argv[++i]) == "mapped";
    else if (argument == "--fail")
      fail = std::stoi(argv[++i]);
    else if (argument == "--linger")
      linger = true;
    else if (argument == "--undumpable")
      prctl(PR_SET_DUMPABLE, 0);
    else if (argument == "--for")  // --for RANK STEPS,...: for one rank alone
      i += 2;
    else
      steps.push_back(parse(argument));
  }
  try {
    auto comm = Communicator::world().value();
    // A rank with steps of its own does only those.
    for (int i = 1; i + 2 < argc; ++i) {
      if (std::string(argv[i]) != "--for" ||
          std::stoi(argv[i + 1]) != comm.rank())
        continue;
      steps.clear();
      for (char* text = std::strtok(argv[i + 2], ","); text != nullptr;
           text = std::strtok(nullptr, ","))
        steps.push_back(parse(text));
    }
    Worker worker(std::move(comm), mapped);
    try {
      worker.run(steps);
    } catch (const Error& e) {
      report(e);
      if (linger) worker.linger();
      return fail;
    }
  } catch (const Error& e) {
    report(e);
    return fail;
  }
  std::printf("done\n");
  return 0;
}
