#include "bench/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

struct Point {
  double bytes = 0;
  double value = 0;
};

struct Line {
  std::string name;
  std::vector<Point> rates_mb_per_s;
  std::vector<Point> latencies_us;
};

bool is_of_rates(const RowPlan& plan) noexcept {
  return plan.operation == "stream" || plan.operation == "write";
}

/// In the order of the rows.
std::vector<Line> lines_of(const std::vector<RowResult>& rows) {
  std::vector<Line> lines;
  for (const RowResult& row : rows) {
    const std::string& name = name_of(row.plan);
    auto line = std::ranges::find(lines, name, &Line::name);
    if (line == lines.end()) {
      line = lines.insert(lines.end(), Line{.name = name, .rates_mb_per_s = {}, .latencies_us = {}});
    }
    const auto bytes = static_cast<double>(row.plan.message_bytes);
    if (row.is_by_round_trip()) {
      line->latencies_us.push_back({bytes, row.latency_us().p50});
    } else if (const auto rate = row.gigabytes_per_second(); rate && is_of_rates(row.plan) && has_bandwidth(row.plan)) {
      line->rates_mb_per_s.push_back({bytes, *rate * 1e3});
    }
  }
  for (Line& line : lines) {
    for (std::vector<Point>* points : {&line.rates_mb_per_s, &line.latencies_us}) {
      std::erase_if(*points, [](const Point& point) { return point.value <= 0; });
      std::ranges::stable_sort(*points, {}, &Point::bytes);
      // The article's own rows have sizes that the plot has, too: the first of two stays.
      const auto is_alike = [](const Point& a, const Point& b) { return a.bytes == b.bytes; };
      points->erase(std::unique(points->begin(), points->end(), is_alike), points->end());
    }
  }
  return lines;
}

// ---- Drawing ----

constexpr double diagram_width = 430;
constexpr double diagram_height = 330;
constexpr double left = 64;
constexpr double top = 52;
constexpr double between = 96;
constexpr double legend_top = top + diagram_height + 62;
constexpr double legend_line = 20;
constexpr std::size_t legend_columns = 4;
constexpr double width = left + 2 * diagram_width + between + 24;

/// Distinguishable also by the colour-blind (Okabe and Ito 2008). Later rounds are dashed.
constexpr std::array<std::string_view, 8> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#000000", "#8c6d31"};

std::string style_of(std::size_t line) {
  return fmt::format(R"(stroke="{}" fill="none" stroke-width="2"{})", colours[line % colours.size()],
                     line >= colours.size() ? R"( stroke-dasharray="6 3")" : "");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : printable(text)) {
    out += letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : std::string(1, letter);
  }
  return out;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view more = {}) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)", x, y, anchor, more, escaped(text)) +
         "\n";
}

/// "64", "4k", "1M"
std::string bytes_text(double bytes) {
  if (bytes >= 1024 * 1024) {
    return fmt::format("{:g}M", bytes / (1024 * 1024));
  }
  return bytes >= 1024 ? fmt::format("{:g}k", bytes / 1024) : fmt::format("{:g}", bytes);
}

/// Whole decades around the values.
struct Decades {
  int first = std::numeric_limits<int>::max();
  int last = std::numeric_limits<int>::min();
  void take(double value) {
    first = std::min(first, static_cast<int>(std::floor(std::log10(value))));
    last = std::max(last, static_cast<int>(std::ceil(std::log10(value))));
  }
};

class Diagram {
 public:
  using Points = std::vector<Point> Line::*;
  Diagram(double x, std::string title, std::string unit, const std::vector<Line>& lines, Points points)
      : x_(x), title_(std::move(title)), unit_(std::move(unit)), lines_(lines), points_(points) {
    for (const Line& line : lines_) {
      for (const Point& point : line.*points_) {
        least_bytes_ = std::min(least_bytes_, point.bytes);
        most_bytes_ = std::max(most_bytes_, point.bytes);
        decades_.take(point.value);
      }
    }
    if (most_bytes_ > 0) {
      decades_.last = std::max(decades_.last, decades_.first + 1);
    }
  }

  [[nodiscard]] std::string draw() const {
    std::string svg = text_at(x_, top - 24, "start", title_, R"( font-weight="bold")");
    if (most_bytes_ == 0) {
      return svg + text_at(x_, top, "start", "no figures");
    }
    svg += text_at(x_ - 8, top - 8, "end", unit_) + grid();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      svg += curve(i);
    }
    return svg + text_at(x_ + diagram_width / 2, top + diagram_height + 36, "middle", "bytes in a message");
  }

 private:
  [[nodiscard]] double x_of(double bytes) const {
    const double span = std::log2(most_bytes_ / least_bytes_);
    return x_ + (span > 0 ? std::log2(bytes / least_bytes_) / span : 0.5) * diagram_width;
  }
  [[nodiscard]] double y_of(double value) const {
    return top + diagram_height * (decades_.last - std::log10(value)) / (decades_.last - decades_.first);
  }

  [[nodiscard]] std::string grid() const {
    std::string svg;
    for (int decade = decades_.first; decade <= decades_.last; ++decade) {
      const double y = y_of(std::pow(10.0, decade));
      svg += fmt::format(R"(<path d="M{:.1f} {:.1f}h{:.1f}" stroke="#ccc"/>)", x_, y, diagram_width) + "\n";
      svg += text_at(x_ - 8, y + 4, "end", fmt::format("{:.{}f}", std::pow(10.0, decade), std::max(0, -decade)));
    }
    for (double bytes = least_bytes_; bytes <= most_bytes_; bytes *= 4) {
      const double x = x_of(bytes);
      svg += fmt::format(R"(<path d="M{:.1f} {:.1f}v{:.1f}" stroke="#eee"/>)", x, top, diagram_height) + "\n";
      svg += text_at(x, top + diagram_height + 18, "middle", bytes_text(bytes));
    }
    return svg;
  }

  [[nodiscard]] std::string curve(std::size_t i) const {
    const std::vector<Point>& points = lines_[i].*points_;
    if (points.empty()) {
      return {};
    }
    std::string path;
    std::string dots;
    for (const Point& point : points) {
      const double x = x_of(point.bytes);
      const double y = y_of(point.value);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
      dots += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>)", x, y, colours[i % colours.size()]);
    }
    return fmt::format(R"(<path d="{}" {}/>)", path, style_of(i)) + dots + "\n";
  }

  const double x_;
  const std::string title_, unit_;
  const std::vector<Line>& lines_;
  const Points points_;
  double least_bytes_ = std::numeric_limits<double>::max();
  double most_bytes_ = 0;
  Decades decades_;
};

std::string legend_of(const std::vector<Line>& lines) {
  std::string svg;
  constexpr double column = (width - left - 24) / legend_columns;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double x = left + static_cast<double>(i % legend_columns) * column;
    const std::size_t row = i / legend_columns;
    const double y = legend_top + static_cast<double>(row) * legend_line;
    svg += fmt::format(R"(<path d="M{:.1f} {:.1f}h28" {}/>)", x, y - 4, style_of(i)) + "\n";
    svg += text_at(x + 36, y, "start", lines[i].name);
  }
  return svg;
}

}  // namespace

std::string plot_of(const std::vector<RowResult>& rows) {
  const std::vector<Line> lines = lines_of(rows);
  const std::size_t legend_rows = (lines.size() + legend_columns - 1) / legend_columns;
  const double height = legend_top + static_cast<double>(legend_rows) * legend_line + 8;
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}" )"
             R"(font-family="sans-serif" font-size="13">)",
             width, height) +
         "\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
         Diagram(left, "Throughput", "MB/s", lines, &Line::rates_mb_per_s).draw() +
         Diagram(left + diagram_width + between, "Latency (half of a round trip, median)", "us", lines,
                 &Line::latencies_us)
             .draw() +
         legend_of(lines) + "</svg>\n";
}

namespace {

Error cannot_write(const std::string& file) {
  return Error::from_errno("write the plot " + quote(file), errno);
}

}  // namespace

void require_writable(const std::string& file) {
  if (!std::ofstream(file, std::ios::app)) {
    throw cannot_write(file);
  }
}

void write_plot(const std::vector<RowResult>& rows, const std::string& file) {
  std::ofstream out(file, std::ios::trunc);
  out << plot_of(rows);
  out.close();
  if (!out) {
    throw cannot_write(file);
  }
}

}  // namespace framewire
