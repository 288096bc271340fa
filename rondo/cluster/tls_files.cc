#include "rondo/cluster/tls_files.h"

#include <fstream>
#include <iterator>

namespace rondo {
namespace {

Result<std::string> read_text(const std::string& path, std::string_view what) {
  if (path.empty())
    return error(Code::kInvalidArgument,
                 "TLS needs a file with {}, and none is given", what);
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  if (!file || text.empty())
    return error(Code::kInvalidArgument,
                 "{}: cannot be read, or is empty; it should hold {} in PEM "
                 "format",
                 path, what);
  return text;
}

}  // namespace

Result<TlsTexts> read_tls_files(const TlsFiles& files) {
  TlsTexts texts;
  RONDO_ASSIGN_OR_RETURN(
      texts.authority,
      read_text(files.authority, "the authority's certificate"));
  RONDO_ASSIGN_OR_RETURN(
      texts.certificate,
      read_text(files.certificate, "this task's certificate"));
  RONDO_ASSIGN_OR_RETURN(texts.key,
                         read_text(files.key, "the certificate's key"));
  return texts;
}

}  // namespace rondo
