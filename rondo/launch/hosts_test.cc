#include "rondo/launch/hosts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::HasSubstr;

std::string show(const Result<std::vector<Host>>& hosts) {
  if (!hosts.ok()) return "error: " + hosts.status().message();
  std::string text;
  for (const Host& host : *hosts)
    text += host.name + "=" + std::to_string(host.slots) + " ";
  return text;
}

TEST(Hosts, ListsCarryCounts) {
  EXPECT_EQ(show(parse_hosts("a:4,b:4")), "a=4 b=4 ");
  EXPECT_EQ(show(parse_hosts("a, me@b:2")), "a=1 me@b=2 ");
  EXPECT_EQ(show(parse_hosts("[fd00::1]:3,fd00::2")), "fd00::1=3 fd00::2=1 ");
  EXPECT_EQ(show(parse_hosts("me@[fd00::1]:3")), "me@fd00::1=3 ");
}

TEST(Hosts, WhatIsWrongIsNamed) {
  EXPECT_THAT(show(parse_hosts("")), HasSubstr("has no host name"));
  EXPECT_THAT(show(parse_hosts("a,,b")), HasSubstr("has no host name"));
  EXPECT_THAT(show(parse_hosts("a:0")), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(show(parse_hosts("a:4x")), HasSubstr("'4x'"));
  EXPECT_THAT(show(parse_hosts("a:")), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(show(parse_hosts("a:2,b,a:2")), HasSubstr("'a' is given twice"));
  EXPECT_THAT(show(parse_hosts("[fd00::1")), HasSubstr("']' is missing"));
  EXPECT_THAT(show(parse_hosts("-oProxyCommand=x")),
              HasSubstr("not a host name"));
  EXPECT_THAT(show(parse_hosts("a;reboot")), HasSubstr("not a host name"));
}

TEST(Hosts, FilesTakeTheUsualForms) {
  EXPECT_EQ(show(parse_hostfile("# nodes\na:4\nb 2  # two\n\nc slots=3\nd")),
            "a=4 b=2 c=3 d=1 ");
  EXPECT_THAT(show(parse_hostfile("a slots=many\n")), HasSubstr("'many'"));
  EXPECT_THAT(show(parse_hostfile("# nothing\n")), HasSubstr("empty"));
  EXPECT_THAT(show(read_hostfile("/tmp")), HasSubstr("/tmp: a folder"));
}

TEST(Hosts, RanksAreNumberedHostByHost) {
  const std::vector<Host> hosts = {{"a", 4}, {"b", 4}, {"c", 4}};
  auto all = assign_ranks(hosts, 0).value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].first_rank, 8);
  auto some = assign_ranks(hosts, 6).value();
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[1].host, "b");
  EXPECT_EQ(some[1].first_rank, 4);
  EXPECT_EQ(some[1].count, 2);
  EXPECT_THAT(assign_ranks(hosts, 13).status().message(),
              HasSubstr("take only 12 ranks"));
  EXPECT_FALSE(assign_ranks({{"a", 4096}, {"b", 1}}, 0).ok());
}

std::string show(const std::vector<HostRanks>& ranks) {
  std::string text;
  for (const HostRanks& one : ranks)
    text += fmt::format("{}:{}+{} ", one.host, one.first_rank, one.count);
  return text;
}

TEST(Hosts, FreeSlotsAreThoseBeyondTheUsed) {
  const std::vector<Host> hosts = {{"a", 2}, {"b", 4}, {"c", 1}};
  EXPECT_EQ(show(free_slots(hosts, {{"a", 2}, {"b", 1}}, 3, 9)),
            "b:3+3 c:6+1 ");
  EXPECT_EQ(show(free_slots(hosts, {{"a", 2}, {"b", 1}}, 3, 2)), "b:3+2 ");
  EXPECT_EQ(show(free_slots(hosts, {{"a", 3}, {"b", 4}, {"c", 1}}, 8, 9)), "");
  EXPECT_EQ(show(free_slots(hosts, {}, 0, 0)), "");
}

TEST(Hosts, RankListsAreShort) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({3}), "3");
  EXPECT_EQ(rank_list({0, 1, 2, 5}), "0-2, 5");
  EXPECT_EQ(rank_list({1, 2, 4, 5, 6}), "1, 2, 4-6");
}

}  // namespace
}  // namespace rondo
