#include "rondo/transport/interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Interface row(const std::string& name, const std::string& address) {
  return {name, SocketAddress::parse(address).value(), 24};
}

const std::vector<Interface>& host() {
  static const std::vector<Interface> rows = {
      row("lo", "127.0.0.1:0"),     row("eth0", "[fe80::7%lo]:0"),
      row("eth0", "[fd00::7]:0"),   row("eth0", "10.0.0.7:0"),
      row("eth1", "192.168.1.7:0"), row("docker0", "172.17.0.1:0"),
  };
  return rows;
}

std::vector<std::string> pick(const std::string& filter) {
  std::vector<std::string> hosts;
  auto chosen = InterfaceFilter::parse(filter).value().select(host());
  for (const Interface& i : chosen.value())
    hosts.push_back(i.address.host_string());
  return hosts;
}

TEST(InterfaceFilter, EmptyTakesAllButLoopbackInOrderOfPreference) {
  EXPECT_THAT(pick(""), ElementsAre("10.0.0.7", "192.168.1.7", "172.17.0.1",
                                    "fd00::7", "fe80::7%lo"));
}

TEST(InterfaceFilter, IncludesByNamePrefixNetworkAndAddress) {
  EXPECT_THAT(pick("eth1"), ElementsAre("192.168.1.7"));
  EXPECT_THAT(pick("eth*"),
              ElementsAre("10.0.0.7", "192.168.1.7", "fd00::7", "fe80::7%lo"));
  EXPECT_THAT(pick("10.0.0.0/8"), ElementsAre("10.0.0.7"));
  EXPECT_THAT(pick("10.0.0.7"), ElementsAre("10.0.0.7"));
  EXPECT_THAT(pick("fd00::/8"), ElementsAre("fd00::7"));
  EXPECT_THAT(pick("lo"), ElementsAre("127.0.0.1"));
  EXPECT_THAT(pick("192.168.0.0/23,docker0"),
              ElementsAre("192.168.1.7", "172.17.0.1"));
}

TEST(InterfaceFilter, Excludes) {
  EXPECT_THAT(pick("^docker0,^fd00::/8,^fe80::/10"),
              ElementsAre("10.0.0.7", "192.168.1.7"));
  EXPECT_THAT(pick("eth*,^10.0.0.0/8,^fe80::/10"),
              ElementsAre("192.168.1.7", "fd00::7"));
}

TEST(InterfaceFilter, NothingThatMatchesListsWhatThereIs) {
  const auto none = InterfaceFilter::parse("ib0").value().select(host());
  EXPECT_EQ(none.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(none.status().message(), HasSubstr("ib0"));
  EXPECT_THAT(none.status().message(), HasSubstr("eth1 (192.168.1.7)"));
  EXPECT_FALSE(
      InterfaceFilter::parse("192.168.0.0/24").value().select(host()).ok());
}

TEST(InterfaceFilter, LoopbackOnlyWhenTheHostHasNothingElse) {
  const std::vector<Interface> alone = {row("lo", "127.0.0.1:0")};
  EXPECT_EQ(InterfaceFilter::parse("").value().select(alone).value().size(),
            1u);
}

TEST(InterfaceFilter, LoopbackWhenNothingElseIsLeft) {
  EXPECT_THAT(pick("^eth*,^docker0"), ElementsAre("127.0.0.1"));
  // What was asked for by name, or excluded by name, is meant.
  EXPECT_FALSE(
      InterfaceFilter::parse("eth*,^eth*").value().select(host()).ok());
  EXPECT_FALSE(
      InterfaceFilter::parse("^eth*,^docker0,^lo").value().select(host()).ok());
}

TEST(InterfaceFilter, RejectsBadTerms) {
  for (const char* text :
       {",", "eth0,", "^", "10.0.0.0/33", "10.0.0.0/x", "fd00::/129", "eth*0",
        "10.0.0.256", "eth0/8", "a name", "^^eth0", "::zz"})
    EXPECT_FALSE(InterfaceFilter::parse(text).ok()) << text;
}

TEST(Interfaces, ThisHostHasLoopback) {
  const auto all = list_interfaces().value();
  const auto lo = std::find_if(all.begin(), all.end(), [](const Interface& i) {
    return i.address.host_string() == "127.0.0.1";
  });
  ASSERT_NE(lo, all.end());
  EXPECT_EQ(lo->prefix_length, 8);
  EXPECT_EQ(lo->address.port(), 0);
}

}  // namespace
}  // namespace rondo
