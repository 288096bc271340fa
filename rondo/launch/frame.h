// Frames: what the launcher and its agents say to each other over pipes.
//
//   agent -> launcher   hello line, then frames
//   launcher -> agent   frames
//
//   hello = "rondo-agent " version "\n"
//   frame = u8 type, u8 stream, u16 zero, u32 rank, u32 length, payload, "\n"
//
// Integers are little-endian. The hello line is looked for in what comes, since
// shell start-up files on a remote host may print something before it. Frames
// end with a newline because srun passes output on in whole lines only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

inline constexpr std::string_view kAgentHello = "rondo-agent 2\n";
inline constexpr std::string_view kAgentHelloStart = "rondo-agent ";

enum class FrameType : uint8_t {
  kJob = 1,        // to the agent: an encoded JobSpec; start it
  kTerminate = 2,  // to the agent: SIGTERM to everything, SIGKILL 3 s later
  kKill = 3,       // to the agent: SIGKILL to everything
  kStarted = 4,    // rank runs; payload: u32 pid
  kOutput = 5,     // rank wrote payload to stream
  kExited = 6,     // rank ended; payload: u32 wait status
  kFailed = 7,     // nothing was started; payload: u32 exit code, message
  kDone = 8,       // every process of this agent is gone
  // Rank ended and was started again; payload: u32 wait status, u32 pid.
  kRestarted = 9,
};

enum class Stream : uint8_t { kOut = 1, kErr = 2 };

struct Frame {
  FrameType type = FrameType::kDone;
  Stream stream = Stream::kOut;
  int rank = 0;
  std::string payload;
};

// More than any argument list and environment that a kernel takes.
inline constexpr uint32_t kMaxFramePayload = 16u << 20;

std::string encode_frame(FrameType type, int rank = 0,
                         std::string_view payload = {},
                         Stream stream = Stream::kOut);

// Cuts a byte stream into frames.
class FrameReader {
 public:
  void feed(std::string_view bytes);
  // Whether there was a whole frame. An error when the bytes are no frame at
  // all; the stream is of no further use then.
  Result<bool> next(Frame* frame);

 private:
  std::string buffer_;
  size_t start_ = 0;  // of the first frame not yet taken
};

void put_u32(std::string& out, uint32_t value);
// The first four bytes of `bytes`; 0 when there are fewer.
uint32_t get_u32(std::string_view bytes);

}  // namespace rondo
