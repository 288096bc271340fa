#include "rondo/train/dataset.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "array.h"
#include "attr.h"
#include "bindings.h"
#include "cause.h"
#include "dtype.h"
#include "graph.h"
#include "program_call.h"
#include "rondo/train/graph_iterator.h"
#include "run_interrupt.h"

namespace rondo::python {
namespace {

using Arrays = std::vector<nb::object>;

// How long one waits for the threads of an iterator that nobody uses any more.
constexpr auto kPatience = std::chrono::milliseconds(500);

// Copies, so that no thread of the library's has to let an array go.
DataElement to_element(nb::handle arrays) {
  DataElement element;
  for (nb::handle array : nb::iter(arrays))
    element.push_back(to_tensor(array, "component", true));
  return element;
}

// Arrays that the program cannot change are used as they are.
DataElement to_element_of_dataset(const Arrays& arrays) {
  DataElement element;
  for (const nb::object& array : arrays) {
    const bool fixed = !nb::cast<bool>(array.attr("flags").attr("writeable")) &&
                       array.attr("base").is_none();
    element.push_back(to_tensor(array, "component", !fixed));
  }
  return element;
}

DataTypes to_types(const nb::list& types) {
  DataTypes result;
  for (nb::handle type : types)
    result.push_back({to_dtype(type[0]), to_shape(type[1])});
  return result;
}

nb::list types_of(const Dataset& dataset) {
  nb::list list;
  for (const TensorType& type : dataset.types())
    list.append(nb::make_tuple(from_dtype(type.dtype), from_shape(type.shape)));
  return list;
}

// begin() gives a function of nothing that gives lists of arrays, then None.
DataGeneratorMaker generator(nb::object begin) {
  return [begin = share(std::move(begin))]() -> DataGenerator {
    auto next = std::make_shared<SharedObject>();
    return [begin, next]() -> NextElement {
      const ProgramCall call;
      if (!call.entered()) return ProgramCall::ended();
      try {
        if (!*next) *next = share((*begin)());
        nb::object got = (**next)();
        if (got.is_none()) return std::optional<DataElement>();
        return std::optional(to_element(got));
      } catch (const nb::python_error& e) {
        return status_of(e, "the generator");
      }
    };
  };
}

std::function<Result<Dataset>(DataElement)> dataset_function(
    nb::object function) {
  return [function = share(std::move(function))](
             DataElement element) -> Result<Dataset> {
    const ProgramCall call;
    if (!call.entered()) return ProgramCall::ended();
    try {
      nb::list arrays;
      for (Tensor& tensor : element)
        arrays.append(to_array(tensor.unique() ? tensor : tensor.clone()));
      return nb::cast<Dataset>((*function)(arrays));
    } catch (const nb::python_error& e) {
      return status_of(e, "the function");
    }
  };
}

GraphFunction to_function(const PyGraph& graph,
                          const std::vector<PyValue>& inputs,
                          const std::vector<PyValue>& outputs) {
  GraphFunction function;
  function.graph = graph.graph;
  for (const PyValue& input : inputs) function.inputs.push_back(input.value);
  for (const PyValue& output : outputs)
    function.outputs.push_back(output.value);
  return function;
}

Compression to_compression(bool gzip) {
  return gzip ? Compression::kGzip : Compression::kNone;
}

// One pass. Threads of the program take turns.
class PyDatasetIterator {
 public:
  PyDatasetIterator(const Dataset& dataset, uint64_t pass)
      : iterator_(std::make_unique<DatasetIterator>(dataset.iterate(pass))) {}
  // Its threads may be waiting for the GIL, or be in a generator of the
  // program's that takes long: then they end later, by themselves.
  ~PyDatasetIterator() {
    const GilRelease release;
    auto ended = std::make_shared<std::promise<void>>();
    std::future<void> end = ended->get_future();
    std::thread([iterator = std::move(iterator_), ended]() mutable {
      iterator.reset();
      ended->set_value();
    }).detach();
    (void)end.wait_for(kPatience);
  }
  PyDatasetIterator(const PyDatasetIterator&) = delete;
  PyDatasetIterator& operator=(const PyDatasetIterator&) = delete;

  nb::object next() {
    NextElement element = std::optional<DataElement>();
    {
      const GilRelease release;
      const std::lock_guard lock(mutex_);
      const RunInterrupt interrupt(iterator_->cancellation());
      element = iterator_->next();
      if (element.ok() && *element)
        for (Tensor& tensor : **element)
          // What the data set holds is not for the program to change.
          if (!tensor.unique()) tensor = tensor.clone();
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    check(element.status());
    if (!*element) return nb::none();
    nb::list arrays;
    for (Tensor& tensor : **element) arrays.append(to_array(std::move(tensor)));
    return nb::object(arrays);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<DatasetIterator> iterator_;  // guarded by mutex_
};

void bind_sources(nb::class_<Dataset>& c) {
  c.def_static(
       "from_tensors",
       [](const Arrays& arrays) {
         return Dataset::from_tensors(to_element_of_dataset(arrays));
       },
       nb::arg("arrays"))
      .def_static(
          "from_tensor_slices",
          [](const Arrays& arrays) {
            return Dataset::from_tensor_slices(to_element_of_dataset(arrays));
          },
          nb::arg("arrays"))
      .def_static(
          "range",
          [](int64_t start, int64_t stop, int64_t step) {
            return Dataset::range(start, stop, step);
          },
          nb::arg("start"), nb::arg("stop"), nb::arg("step"))
      .def_static(
          "from_generator",
          [](nb::object begin, const nb::list& types) {
            return Dataset::from_generator(generator(std::move(begin)),
                                           to_types(types));
          },
          nb::arg("begin"), nb::arg("types"))
      .def_static("list_files", &Dataset::list_files, nb::arg("pattern"))
      .def_static("paths", &Dataset::paths, nb::arg("paths"))
      .def_static(
          "text_line",
          [](const Dataset& paths, bool gzip) {
            return Dataset::text_line(paths, to_compression(gzip));
          },
          nb::arg("paths"), nb::arg("gzip"))
      .def_static(
          "fixed_length_record",
          [](const Dataset& paths, int64_t record_bytes, int64_t header_bytes,
             int64_t footer_bytes, bool gzip) {
            return Dataset::fixed_length_record(
                paths, {record_bytes, header_bytes, footer_bytes,
                        to_compression(gzip)});
          },
          nb::arg("paths"), nb::arg("record_bytes"), nb::arg("header_bytes"),
          nb::arg("footer_bytes"), nb::arg("gzip"))
      .def_static(
          "tf_record",
          [](const Dataset& paths, bool gzip) {
            return Dataset::tf_record(paths, to_compression(gzip));
          },
          nb::arg("paths"), nb::arg("gzip"))
      .def_static("zip", &Dataset::zip, nb::arg("datasets"));
}

void bind_functions(nb::class_<Dataset>& c) {
  c.def(
       "map",
       [](const Dataset& self, const PyGraph& graph,
          const std::vector<PyValue>& inputs,
          const std::vector<PyValue>& outputs, int num_parallel_calls) {
         return self.map(to_function(graph, inputs, outputs),
                         {.num_parallel_calls = num_parallel_calls});
       },
       nb::arg("graph"), nb::arg("inputs"), nb::arg("outputs"),
       nb::arg("num_parallel_calls") = 0)
      .def(
          "filter",
          [](const Dataset& self, const PyGraph& graph,
             const std::vector<PyValue>& inputs,
             const std::vector<PyValue>& outputs) {
            return self.filter(to_function(graph, inputs, outputs));
          },
          nb::arg("graph"), nb::arg("inputs"), nb::arg("outputs"))
      .def(
          "interleave",
          [](const Dataset& self, nb::object function, const nb::list& types,
             int cycle_length, int block_length) {
            return self.interleave(dataset_function(std::move(function)),
                                   to_types(types),
                                   {cycle_length, block_length});
          },
          nb::arg("function"), nb::arg("types"), nb::arg("cycle_length"),
          nb::arg("block_length"))
      .def(
          "batch",
          [](const Dataset& self, int64_t batch_size, bool drop_remainder) {
            return self.batch(batch_size, {drop_remainder});
          },
          nb::arg("batch_size"), nb::arg("drop_remainder") = false)
      .def(
          "padded_batch",
          [](const Dataset& self, int64_t batch_size, const nb::list& shapes,
             const nb::list& values, bool drop_remainder) {
            PaddedBatchOptions options;
            for (nb::handle shape : shapes)
              options.padded_shapes.push_back(to_shape(shape));
            options.padding_values = to_element(values);
            options.drop_remainder = drop_remainder;
            return self.padded_batch(batch_size, std::move(options));
          },
          nb::arg("batch_size"), nb::arg("padded_shapes"),
          nb::arg("padding_values"), nb::arg("drop_remainder") = false);
}

void bind_order(nb::class_<Dataset>& c) {
  c.def(
       "shuffle",
       [](const Dataset& self, int64_t buffer_size,
          std::optional<uint64_t> seed, bool reshuffle_each_iteration) {
         return self.shuffle(buffer_size, {seed, reshuffle_each_iteration});
       },
       nb::arg("buffer_size"), nb::arg("seed") = nb::none(),
       nb::arg("reshuffle_each_iteration") = true)
      .def("repeat", &Dataset::repeat, nb::arg("count") = -1)
      .def("take", &Dataset::take, nb::arg("count"))
      .def("skip", &Dataset::skip, nb::arg("count"))
      .def("shard", &Dataset::shard, nb::arg("num_shards"), nb::arg("index"))
      .def("prefetch", &Dataset::prefetch, nb::arg("buffer_size"))
      .def("concatenate", &Dataset::concatenate, nb::arg("other"))
      .def_prop_ro("types", &types_of, "(dtype, shape) of each component.")
      .def(
          "attach",
          [](const Dataset& self, const PyGraph& graph) {
            return attach_dataset(*graph.graph, self);
          },
          nb::arg("graph"), "The name under which the graph has it then.");
}

}  // namespace

void bind_datasets(nb::module_& m) {
  nb::class_<Dataset> dataset(m, "Dataset", "What a data set is made of.");
  bind_sources(dataset);
  bind_functions(dataset);
  bind_order(dataset);
  nb::class_<PyDatasetIterator>(m, "DatasetIterator",
                                "One pass over a data set.")
      .def(nb::init<const Dataset&, uint64_t>(), nb::arg("dataset"),
           nb::arg("number") = 0)
      .def("next", &PyDatasetIterator::next,
           "The arrays of the next element; None at the end.");
}

}  // namespace rondo::python
