#include "rondo/planner/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rondo {
namespace {

constexpr double kWidth = 760, kHeight = 380;
constexpr double kLeft = 60, kRight = 220, kTop = 36, kBottom = 54;
constexpr double kLabel = 20;  // of a tick's: nearer, they would be one
constexpr std::array<std::string_view, 8> kColours = {
    "#4e79a7", "#f28e2b", "#e15759", "#76b7b2",
    "#59a14f", "#b07aa1", "#9c755f", "#555555"};

class Plot {
 public:
  Plot(const Sweep& sweep, const PlotOptions& options)
      : sweep_(sweep), options_(options) {}

  std::string draw() {
    text_ = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", kWidth,
        kHeight, html_text(options_.title));
    label(kLeft, 20, "start", options_.title, "title");
    grid();
    for (size_t i = 0; i < sweep_.curves.size(); ++i) curve(i);
    return text_ + "</svg>\n";
  }

 private:
  double x(double at) const {
    const double first = std::log(sweep_.at.front());
    const double last = std::log(sweep_.at.back());
    return kLeft +
           (kWidth - kLeft - kRight) * (std::log(at) - first) / (last - first);
  }
  double y(double efficiency) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * efficiency;
  }

  void label(double at_x, double at_y, std::string_view anchor,
             std::string_view text, std::string_view kind = "tick") {
    text_ += fmt::format(
        "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}"
        "</text>\n",
        kind, at_x, at_y, anchor, html_text(text));
  }
  void line(double x1, double y1, double x2, double y2, std::string_view kind) {
    text_ += fmt::format(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" "
        "y2=\"{:.1f}\"/>\n",
        kind, x1, y1, x2, y2);
  }

  void grid() {
    for (int percent = 0; percent <= 100; percent += 25) {
      line(kLeft, y(percent / 100.0), kWidth - kRight, y(percent / 100.0),
           "grid");
      label(kLeft - 8, y(percent / 100.0) + 4, "end",
            fmt::format("{} %", percent));
    }
    double labelled = -kLabel;
    for (const double at : sweep_.at) {
      line(x(at), y(0), x(at), y(0) + 4, "axis");
      if (x(at) - labelled < kLabel) continue;
      label(x(at), y(0) + 18, "middle", options_.tick(at));
      labelled = x(at);
    }
    line(kLeft, y(0), kWidth - kRight, y(0), "axis");
    label((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", options_.axis);
    if (options_.mark >= sweep_.at.front() && options_.mark <= sweep_.at.back())
      line(x(options_.mark), y(0), x(options_.mark), y(1), "mark");
  }

  void curve(size_t number) {
    const Curve& curve = sweep_.curves[number];
    const std::string_view colour = kColours[number % kColours.size()];
    std::string points;
    for (size_t i = 0; i < sweep_.at.size(); ++i)
      points += fmt::format("{:.1f},{:.1f} ", x(sweep_.at[i]),
                            y(std::min(1.0, curve.efficiency[i])));
    text_ +=
        fmt::format("<polyline class=\"curve\" stroke=\"{}\" points=\"{}\"/>\n",
                    colour, points);
    const double row = kTop + 8 + 20 * static_cast<double>(number);
    text_ += fmt::format(
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n",
        kWidth - kRight + 14, row - 4, colour);
    label(kWidth - kRight + 34, row, "start", curve.method);
  }

  const Sweep& sweep_;
  const PlotOptions& options_;
  std::string text_;
};

}  // namespace

std::string svg_plot(const Sweep& sweep, const PlotOptions& options) {
  return Plot(sweep, options).draw();
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

}  // namespace rondo
