// The file store with its house-keeping for a job.
//
// Layout of the folder (mode 0700, files 0600):
//   k.<key>    a value; bytes outside [A-Za-z0-9_-] as %XX
//   h.<hex>    a value whose file name would be too long: SHA-256 of the key
//   .lock      flock(2)ed while a counter or the member count changes
//   .members   "<opened> <closed>": how often a rank has opened, closed it
//   .tmp.*     a value being written; rename(2) makes it visible whole
//
// A folder belongs to one job: what an earlier job left behind (one that was
// killed; others clean up) would be taken for this job's.
#pragma once

#include <memory>
#include <string>

#include "rondo/rendezvous/store.h"

namespace rondo {

// As open_file_store; when at least `ranks` have opened the folder and all have
// closed it again, its files and the folder are removed.
Result<std::shared_ptr<Store>> open_job_file_store(const std::string& folder,
                                                   int ranks);

}  // namespace rondo
