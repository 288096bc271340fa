#include <algorithm>
#include <cstring>
#include <optional>

#include "rondo/graph/graph_def.h"

namespace rondo {
namespace {

constexpr int kMostRank = 254;

constexpr std::pair<DType, proto::DataType> kTypes[] = {
    {DType::kF64, proto::DT_DOUBLE}, {DType::kF32, proto::DT_FLOAT},
    {DType::kF16, proto::DT_HALF},   {DType::kBF16, proto::DT_BFLOAT16},
    {DType::kI64, proto::DT_INT64},  {DType::kI32, proto::DT_INT32},
    {DType::kI16, proto::DT_INT16},  {DType::kI8, proto::DT_INT8},
    {DType::kU8, proto::DT_UINT8},   {DType::kBool, proto::DT_BOOL},
};
static_assert(std::size(kTypes) == kDTypeCount);

proto::DataType to_message(DType dtype) {
  return std::find_if(std::begin(kTypes), std::end(kTypes),
                      [&](const auto& pair) { return pair.first == dtype; })
      ->second;
}

Result<DType> from_message(int type) {
  for (const auto& [dtype, number] : kTypes)
    if (number == type) return dtype;
  return error(Code::kInvalidArgument, "there is no element type {}", type);
}

void to_message(const Tensor& t, const ConstantsOut& out,
                proto::TensorProto& message) {
  message.set_dtype(to_message(t.dtype()));
  shape_to_message(t.shape(), *message.mutable_tensor_shape());
  if (t.bytes() <= out.inline_up_to) {
    message.set_tensor_content(
        std::string(static_cast<const char*>(t.data()), t.bytes()));
  } else if (out.data) {
    out.data->push_back(t);
    message.set_data(static_cast<int64_t>(out.data->size()));
  } else {
    message.set_omitted(true);
  }
}

Result<Tensor> tensor_from(const proto::TensorProto& message,
                           const std::vector<Tensor>& data) {
  RONDO_ASSIGN_OR_RETURN(const DType dtype, from_message(message.dtype()));
  RONDO_ASSIGN_OR_RETURN(const PartialShape shape,
                         shape_from_message(message.tensor_shape()));
  if (!shape.known())
    return error(Code::kInvalidArgument, "a tensor has shape {}",
                 shape.to_string());
  if (message.omitted())
    return error(Code::kInvalidArgument,
                 "the elements of a tensor {} were left out when the graph was "
                 "written",
                 shape.to_string());
  uint64_t wanted = size_of(dtype);
  for (const int64_t extent : shape.extents())
    if (__builtin_mul_overflow(wanted, static_cast<uint64_t>(extent), &wanted))
      return error(Code::kInvalidArgument, "a tensor has shape {}",
                   shape.to_string());
  const int64_t number = message.data();
  if (number < 0 || number > static_cast<int64_t>(data.size()))
    return error(Code::kInvalidArgument,
                 "a tensor has its elements in data {}, of which there are {}",
                 number, data.size());
  const uint64_t bytes = number > 0
                             ? data[static_cast<size_t>(number - 1)].bytes()
                             : message.tensor_content().size();
  if (bytes != wanted)
    return error(Code::kInvalidArgument,
                 "a tensor {}{} has {} bytes, expected {}", name_of(dtype),
                 shape.to_string(), bytes, wanted);
  Tensor t;
  if (number > 0) {
    t = data[static_cast<size_t>(number - 1)].view(dtype, shape.to_shape());
  } else {
    t = Tensor::empty(shape.to_shape(), dtype);
    if (bytes > 0)
      std::memcpy(t.data(), message.tensor_content().data(), bytes);
  }
  // Any other byte is no bool.
  if (dtype == DType::kBool)
    for (size_t i = 0; i < bytes; ++i) {
      auto* byte = static_cast<unsigned char*>(t.data()) + i;
      *byte = *byte != 0;
    }
  return t;
}

struct Writer {
  const ConstantsOut& constants;
  proto::AttrValue& to;

  void operator()(bool b) const { to.set_b(b); }
  void operator()(int64_t i) const { to.set_i(i); }
  void operator()(double d) const {
    to.set_f(static_cast<float>(d));
    to.set_d(d);
  }
  void operator()(const std::string& s) const { to.set_s(s); }
  void operator()(DType t) const { to.set_type(to_message(t)); }
  void operator()(const PartialShape& s) const {
    shape_to_message(s, *to.mutable_shape());
  }
  void operator()(const Tensor& t) const {
    to_message(t, constants, *to.mutable_tensor());
  }
  void operator()(const Ints& list) const {
    for (const int64_t i : list) to.mutable_list()->add_i(i);
  }
  void operator()(const std::vector<double>& list) const {
    for (const double d : list) {
      to.mutable_list()->add_f(static_cast<float>(d));
      to.mutable_list()->add_d(d);
    }
  }
  void operator()(const std::vector<std::string>& list) const {
    for (const std::string& s : list) to.mutable_list()->add_s(s);
  }
  void operator()(const std::vector<DType>& list) const {
    for (const DType t : list) to.mutable_list()->add_type(to_message(t));
  }
  void operator()(const std::vector<PartialShape>& list) const {
    for (const PartialShape& s : list)
      shape_to_message(s, *to.mutable_list()->add_shape());
  }
};

// A value of the kind that the visited one has.
struct Reader {
  const proto::AttrValue& from;
  const std::vector<Tensor>& data;
  using Read = Result<AttrValue>;

  static Read other_kind() {
    return error(Code::kInvalidArgument, "it is of another kind");
  }
  Read operator()(bool) const {
    if (!from.has_b()) return other_kind();
    return AttrValue(from.b());
  }
  Read operator()(int64_t) const {
    if (!from.has_i()) return other_kind();
    return AttrValue(static_cast<int64_t>(from.i()));
  }
  Read operator()(double) const {
    if (!from.has_f()) return other_kind();
    return AttrValue(from.kind().empty() ? static_cast<double>(from.f())
                                         : from.d());
  }
  Read operator()(const std::string&) const {
    if (!from.has_s()) return other_kind();
    return AttrValue(from.s());
  }
  Read operator()(DType) const {
    if (!from.has_type()) return other_kind();
    RONDO_ASSIGN_OR_RETURN(const DType t, from_message(from.type()));
    return AttrValue(t);
  }
  Read operator()(const PartialShape&) const {
    if (!from.has_shape()) return other_kind();
    RONDO_ASSIGN_OR_RETURN(PartialShape s, shape_from_message(from.shape()));
    return AttrValue(std::move(s));
  }
  Read operator()(const Tensor&) const {
    if (!from.has_tensor()) return other_kind();
    RONDO_ASSIGN_OR_RETURN(Tensor t, tensor_from(from.tensor(), data));
    return AttrValue(std::move(t));
  }
  Read operator()(const Ints&) const {
    return AttrValue(Ints(from.list().i().begin(), from.list().i().end()));
  }
  Read operator()(const std::vector<double>&) const {
    const auto& list = from.list();
    if (from.kind().empty())
      return AttrValue(std::vector<double>(list.f().begin(), list.f().end()));
    return AttrValue(std::vector<double>(list.d().begin(), list.d().end()));
  }
  Read operator()(const std::vector<std::string>&) const {
    return AttrValue(std::vector<std::string>(from.list().s().begin(),
                                              from.list().s().end()));
  }
  Read operator()(const std::vector<DType>&) const {
    std::vector<DType> types;
    for (const int type : from.list().type()) {
      RONDO_ASSIGN_OR_RETURN(const DType t, from_message(type));
      types.push_back(t);
    }
    return AttrValue(std::move(types));
  }
  Read operator()(const std::vector<PartialShape>&) const {
    std::vector<PartialShape> shapes;
    for (const auto& shape : from.list().shape()) {
      RONDO_ASSIGN_OR_RETURN(PartialShape s, shape_from_message(shape));
      shapes.push_back(std::move(s));
    }
    return AttrValue(std::move(shapes));
  }
};

}  // namespace

void shape_to_message(const PartialShape& shape,
                      proto::TensorShapeProto& message) {
  if (!shape.has_rank()) {
    message.set_unknown_rank(true);
    return;
  }
  for (const int64_t extent : shape.extents())
    message.add_dim()->set_size(extent);
}

Result<PartialShape> shape_from_message(
    const proto::TensorShapeProto& message) {
  if (message.unknown_rank()) return PartialShape();
  Ints extents;
  for (const auto& dim : message.dim()) {
    if (dim.size() < kAny)
      return error(Code::kInvalidArgument, "a shape has the extent {}",
                   dim.size());
    extents.push_back(dim.size());
  }
  if (extents.size() > kMostRank)
    return error(Code::kInvalidArgument, "a shape has rank {}", extents.size());
  return PartialShape(std::move(extents));
}

void attr_to_message(const AttrValue& value, const ConstantsOut& constants,
                     proto::AttrValue& message) {
  message.set_kind(std::string(kind_name(value.index())));
  // An empty list is a list too.
  if (kind_name(value.index()).starts_with("list")) message.mutable_list();
  std::visit(Writer{constants, message}, value);
}

Result<AttrValue> attr_from_message(const proto::AttrValue& message,
                                    const AttrValue& spec,
                                    const std::vector<Tensor>& data) {
  const std::string_view kind = kind_name(spec.index());
  if ((!message.kind().empty() && message.kind() != kind) ||
      kind.starts_with("list") != message.has_list())
    return error(Code::kInvalidArgument, "it is of kind {}, expected {}",
                 message.kind().empty() ? "another" : message.kind(), kind);
  return std::visit(Reader{message, data}, spec);
}

}  // namespace rondo
