#include "bench/plot.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

RowResult row_of(const std::string& transport, const std::string& operation, std::uint64_t bytes, double seconds,
                 double p50_us) {
  RowResult row{
      .plan = {.transport = transport, .operation = operation, .message_bytes = bytes}, .client = {}, .server = {}};
  row.client.count = 1000;
  row.server.count = 1000;
  row.server.seconds = seconds;
  row.client.latency_us = {p50_us, p50_us, p50_us, p50_us};
  return row;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Plot, HasALineForEveryKindOfRowAndAPointForEverySize) {
  std::vector<RowResult> rows;
  for (const char* transport : {"socket", "tcp"}) {
    for (const std::uint64_t bytes : {64U, 4096U, 1U << 20}) {
      rows.push_back(row_of(transport, "stream", bytes, 1, 0));
      rows.push_back(row_of(transport, "latency", bytes, 1, 5));
    }
  }
  rows.back().plan.label = "a <b> & c";
  const std::string plot = plot_of(rows);
  EXPECT_EQ(count_of(plot, "<circle"), 12U);
  EXPECT_EQ(count_of(plot, ">tcp<"), 1U);
  EXPECT_NE(plot.find("a &lt;b&gt; &amp; c"), std::string::npos);
  EXPECT_TRUE(plot.starts_with("<svg") && plot.ends_with("</svg>\n"));
}

/// 1000 messages of 1,000,000 bytes in a second are 1000 MB/s: on the lower of two lines, 1000 and 10000.
TEST(Plot, APointStandsWhereItsValueIs) {
  const std::string plot = plot_of({row_of("tcp", "stream", 1'000'000, 1, 0)});
  EXPECT_NE(plot.find("cx=\"279.0\" cy=\"382.0\""), std::string::npos) << plot;
}

TEST(Plot, WhatHasNoFigureHasNoPoint) {
  EXPECT_EQ(count_of(plot_of({row_of("tcp", "stream", 64, 0, 0)}), "<circle"), 0U);
  EXPECT_EQ(count_of(plot_of({row_of("local", "stream", 64, 1, 0)}), "<circle"), 0U) << "it copies nothing";
  EXPECT_EQ(count_of(plot_of({}), "no figures"), 2U);
}

TEST(Plot, ASizeThatCameTwiceHasOnePoint) {
  EXPECT_EQ(count_of(plot_of({row_of("tcp", "stream", 64, 1, 0), row_of("tcp", "stream", 64, 2, 0)}), "<circle"), 1U);
}

TEST(Plot, IsWrittenOrRefused) {
  const test::TemporaryFolder folder;
  const std::string file = folder.file("plot.svg");
  require_writable(file);
  write_plot({row_of("tcp", "stream", 64, 1, 0)}, file);
  std::stringstream written;
  written << std::ifstream(file).rdbuf();
  EXPECT_EQ(written.str(), plot_of({row_of("tcp", "stream", 64, 1, 0)}));
  EXPECT_THROW(require_writable(folder.file("none/plot.svg")), Error);
  EXPECT_THROW(write_plot({}, "/dev/full"), Error);
}

}  // namespace
}  // namespace framewire
