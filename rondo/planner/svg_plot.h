// SvgPlot: efficiencies along an axis of powers, as an SVG element.
#pragma once

#include <functional>
#include <string>

#include "rondo/plan/prediction.h"

namespace rondo {

struct PlotOptions {
  std::string title;
  std::string axis;                            // what the abscissa is
  std::function<std::string(double at)> tick;  // its labels
  double mark = 0;                             // where today's is; 0: nowhere
};

// The abscissa is logarithmic, the ordinate goes from 0 to 100 %.
std::string svg_plot(const Sweep& sweep, const PlotOptions& options);

// With what HTML would take for its own written out.
std::string html_text(std::string_view text);

}  // namespace rondo
