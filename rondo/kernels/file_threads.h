// FileThreads: threads that wait for files, so that none of an executor does.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "rondo/kernels/kernel.h"
#include "rondo/kernels/resources.h"

namespace rondo {

// Of a session; threads are made when there is something to do. Any thread.
class FileThreads final : public Resource {
 public:
  FileThreads() = default;
  // What was given is done first.
  ~FileThreads() override;
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;

  // `work` throws nothing.
  void run(std::function<void()> work);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  // All guarded by mutex_.
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool closing_ = false;
};

// A kernel that reads or writes files.
class FileKernel : public AsyncKernel {
 public:
  explicit FileKernel(Resources& resources)
      : threads_(resources.find_or_make<FileThreads>("file_threads").value()) {}
  void start(KernelContext& context, Done done) final;

 protected:
  // As Kernel::run, on a thread that may wait. Long transfers look at the
  // context's cancellation from time to time.
  virtual Status transfer(KernelContext& context) = 0;

 private:
  const std::shared_ptr<FileThreads> threads_;
};

}  // namespace rondo
