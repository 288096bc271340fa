#include "rondo/cluster/timeline_io.h"

#include <algorithm>
#include <bit>

#include "rondo/cluster/part_io.h"
#include "rondo/cluster/wire.h"

namespace rondo {
namespace {

int64_t bits_of(double value) { return std::bit_cast<int64_t>(value); }

double read_double(wire::Reader& in) {
  return std::bit_cast<double>(in.number());
}

}  // namespace

Tensor timeline_to_tensor(const Timeline& timeline) {
  const auto events = timeline.events();
  wire::Writer out;
  out.number(bits_of(timeline.now_us()));
  out.number(static_cast<int64_t>(events.size()));
  for (const Timeline::Event& event : events) {
    out.text(event.node)
        .text(event.op)
        .number(bits_of(event.start_us))
        .number(bits_of(event.us))
        .number(event.thread)
        .text(event.device)
        .number(static_cast<int64_t>(event.bytes.size()));
    for (const double bytes : event.bytes) out.number(bits_of(bytes));
  }
  return bytes_tensor(out.take());
}

Status add_timeline(const Tensor& tensor, double sent_us, Timeline& timeline) {
  RONDO_ASSIGN_OR_RETURN(const std::string_view bytes, bytes_of(tensor));
  wire::Reader in(bytes);
  const double took_us = read_double(in);
  const double way_us = (timeline.now_us() - sent_us - took_us) / 2;
  const double shift_us = sent_us + std::max(0.0, way_us);
  const int64_t count = in.number();
  // An event takes more than one byte.
  if (count < 0 || static_cast<uint64_t>(count) > in.left())
    return error(Code::kInvalidArgument, "a timeline of {} events came", count);
  std::vector<Timeline::Event> events(static_cast<size_t>(count));
  for (Timeline::Event& event : events) {
    event.node = in.text();
    event.op = in.text();
    event.start_us = shift_us + read_double(in);
    event.us = read_double(in);
    event.thread = static_cast<int>(in.number());
    event.device = in.text();
    const int64_t outputs = in.number();
    if (outputs < 0 || static_cast<uint64_t>(outputs) > in.left())
      return error(Code::kInvalidArgument,
                   "a timeline came with an event of {} outputs", outputs);
    for (int64_t i = 0; i < outputs; ++i)
      event.bytes.push_back(read_double(in));
  }
  if (!in.ok())
    return error(Code::kInvalidArgument, "a timeline came that is not whole");
  for (Timeline::Event& event : events) timeline.add(std::move(event));
  return {};
}

}  // namespace rondo
