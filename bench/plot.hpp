// A plot of a benchmark's rows as an SVG file: rates and latencies over the size of a message.
#pragma once

#include <string>
#include <vector>

#include "bench/row.hpp"

namespace framewire {

/// Two diagrams with logarithmic axes, and a line in each for every kind of row: MB/s of "stream" (of verbs: "write"),
/// and the median of "latency" in us. A kind without a figure in a diagram has no line there, such as the rates of a
/// link that copies nothing.
std::string plot_of(const std::vector<RowResult>& rows);

/// Throws Error if the file cannot be written; creates it. Before rows are measured for it.
void require_writable(const std::string& file);
/// Writes it. Throws Error.
void write_plot(const std::vector<RowResult>& rows, const std::string& file);

}  // namespace framewire
