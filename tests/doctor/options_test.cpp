#include "doctor/options.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"

namespace framewire {
namespace {

DoctorOptions parse(std::vector<const char*> words) {
  words.insert(words.begin(), "framewire-doctor");
  return parse_doctor_options(static_cast<int>(words.size()), words.data()).value();
}

TEST(DoctorOptions, NameAHostInEveryWay) {
  EXPECT_FALSE(parse({}).host);
  EXPECT_EQ(parse({"big"}).host->at.host, "big");
  EXPECT_EQ(parse({"big"}).host->at.port, 5290);
  EXPECT_EQ(parse({"big:7"}).host->at.port, 7);
  EXPECT_EQ(parse({"fe80::1"}).host->at.host, "fe80::1");
  EXPECT_EQ(parse({"[::1]:7"}).host->at.host, "::1");
  const DoctorOptions all =
      parse({"big", "--key", "file", "--insecure", "--timeout", "3s", "--transport", "rdma", "--json"});
  EXPECT_EQ(all.host->key_file, "file");
  EXPECT_TRUE(all.host->insecure);
  EXPECT_EQ(all.host->timeout, "3s");
  EXPECT_EQ(all.transport, LinkKind::rdma);
}

TEST(DoctorOptions, WhatMeansNothingIsAnErrorOfUse) {
  for (const std::vector<const char*>& words : {std::vector<const char*>{"--key", "file"},
                                                {"--insecure"},
                                                {"--timeout", "3s"},
                                                {"big", "--timeout", "soon"},
                                                {"big:99999"},
                                                {"big:0"},
                                                {"*:5290"},
                                                {"big", "small"},
                                                {""},
                                                {"big", "--transport", "pigeon"}}) {
    EXPECT_THROW(parse(words), Error) << words.front();
  }
}

}  // namespace
}  // namespace framewire
