#include "rondo/cluster/session_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "rondo/cluster/methods.h"
#include "rondo/cluster/session_call.h"
#include "rondo/runtime/session_impl.h"

namespace rondo {
namespace {

using testing::HasSubstr;

// Throws what no session should.
class Throws final : public Session::Impl {
 public:
  explicit Throws(Graph& of) : Impl(of, {}) {}
  Result<std::vector<Tensor>> run(const std::vector<Value>&,
                                  const std::vector<Feed>&,
                                  const std::vector<Node*>&,
                                  const RunOptions&) override {
    throw std::length_error("what nobody thought of");
  }
  Result<std::string> explain_placement(const std::vector<Value>&,
                                        const std::vector<Value>&,
                                        const std::vector<Node*>&) override {
    throw std::length_error("what nobody thought of");
  }
  void close() override {}
  Resources& resources() override { std::abort(); }
};

class SessionServiceTest : public testing::Test {
 protected:
  ~SessionServiceTest() override { threads_.reset(); }

  uint64_t create() { return service_.create({}, soon()).value().session; }
  Result<LinkAnswer> call(CallMethod method, std::string body) {
    auto answered = std::make_shared<std::promise<Result<LinkAnswer>>>();
    LinkCall what{number(method), std::move(body), {}};
    LinkServer::Answer answer = [answered](Result<LinkAnswer> result) {
      answered->set_value(std::move(result));
    };
    EXPECT_TRUE(service_.serve(1, what, answer));
    return answered->get_future().get();
  }
  static Deadline soon() { return Deadline(seconds(30)); }

 private:
  std::optional<RunThreads> threads_{std::in_place};
  SessionService service_{
      [](Graph& graph, const ClusterSessionOptions&,
         Deadline) -> Result<std::unique_ptr<Session>> {
        return std::make_unique<Session>(std::make_unique<Throws>(graph));
      },
      *threads_, std::chrono::hours(1)};
};

TEST_F(SessionServiceTest, ARunThatThrewIsNotCancelled) {
  const uint64_t session = create();
  const auto run = call(CallMethod::kSessionRun,
                        SessionCall{.session = session, .run = 3}.encode());
  EXPECT_THAT(run.status().message(), HasSubstr("what nobody thought of"));
  // It is over, and what could have cancelled it is gone: ASan would tell.
  EXPECT_TRUE(call(CallMethod::kSessionCancel,
                   wire::Writer()
                       .number(static_cast<int64_t>(session))
                       .number(3)
                       .text("enough")
                       .take())
                  .ok());
  EXPECT_FALSE(call(CallMethod::kSessionExplain,
                    SessionCall{.session = session}.encode())
                   .ok());
}

TEST_F(SessionServiceTest, CallsOfNoSession) {
  for (const CallMethod method :
       {CallMethod::kSessionRun, CallMethod::kSessionExplain}) {
    const auto answer = call(method, SessionCall{.session = 7}.encode());
    EXPECT_EQ(answer.status().code(), Code::kCancelled);
    EXPECT_THAT(answer.status().message(), HasSubstr("no session 7"));
    EXPECT_THAT(call(method, "?").status().message(),
                HasSubstr("makes no sense"));
  }
}

}  // namespace
}  // namespace rondo
