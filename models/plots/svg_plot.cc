#include "weft/models/plots/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "weft/models/plots/svg_escape.h"

namespace weft {
namespace {

constexpr const char* kColours[] = {"#2563eb", "#ea580c", "#059669", "#9333ea", "#dc2626"};
constexpr double kLeft = 68, kRight = 24, kTop = 52, kBottom = 56;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

/// 1, 2 or 5 times a power of ten, so that about `count` of them fill `span`.
double round_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

/// A range with at least some extent, widened to multiples of its tick step.
struct Axis {
  double low = 0, high = 1, step = 1;
  Axis(Range range, int ticks) {
    if (range.low > range.high) range = {0, 1};
    if (range.high - range.low < 1e-12 * std::max(1.0, std::abs(range.high))) {
      range.low -= 0.5;
      range.high += 0.5;
    }
    step = round_step(range.high - range.low, ticks);
    low = std::floor(range.low / step + 1e-9) * step;
    high = std::ceil(range.high / step - 1e-9) * step;
  }
  int count() const { return static_cast<int>(std::lround((high - low) / step)); }
  double tick(int i) const { return low + i * step; }
  std::string label(int i) const {
    const double v = std::abs(tick(i)) < step * 1e-6 ? 0 : tick(i);
    if (step >= 1) return fmt::format("{:.0f}", v);
    return fmt::format("{:.{}f}", v, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  }
};

using Points = std::vector<std::pair<double, double>>;

Points finite_points(const Points& points) {
  Points out;
  std::copy_if(points.begin(), points.end(), std::back_inserter(out),
               [](const auto& p) { return std::isfinite(p.first) && std::isfinite(p.second); });
  return out;
}

/// Exponential moving average over about a thirtieth of the points, started at the first value.
Points smoothed(const Points& points) {
  Points out;
  const double keep = 1 - 1 / std::max(1.0, static_cast<double>(points.size()) / 30);
  double mean = 0, weight = 0;
  for (const auto& [x, y] : points) {
    mean = keep * mean + (1 - keep) * y;
    weight = keep * weight + (1 - keep);
    out.emplace_back(x, mean / weight);
  }
  return out;
}

}  // namespace

std::string svg_line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options) {
  Range xs, ys;
  for (const PlotSeries& s : series) {
    for (const auto& [x, y] : finite_points(s.points)) {
      xs.add(x);
      ys.add(y);
    }
  }
  const Axis x_axis(xs, 8), y_axis(ys, 6);
  const double width = options.width - kLeft - kRight, height = options.height - kTop - kBottom;
  const auto px = [&](double x) {
    return kLeft + (x - x_axis.low) / (x_axis.high - x_axis.low) * width;
  };
  const auto py = [&](double y) {
    return kTop + height - (y - y_axis.low) / (y_axis.high - y_axis.low) * height;
  };

  std::string out;
  const auto write = [&]<class... T>(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
    out += '\n';
  };
  write(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" font-family="system-ui, sans-serif" font-size="13" fill="#334155">)",
      options.width, options.height);
  write(R"(<rect width="100%" height="100%" fill="#ffffff"/>)");
  write(R"(<text x="{:.0f}" y="28" font-size="17" font-weight="600" fill="#0f172a">{}</text>)",
        kLeft, svg_escape(options.title));
  for (int i = 0; i <= y_axis.count(); ++i) {
    const double y = py(y_axis.tick(i));
    write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#e2e8f0"/>)", kLeft, y,
          kLeft + width, y);
    write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 8, y + 4,
          y_axis.label(i));
  }
  for (int i = 0; i <= x_axis.count(); ++i) {
    const double x = px(x_axis.tick(i));
    write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#94a3b8"/>)", x,
          kTop + height, x, kTop + height + 5);
    write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x, kTop + height + 20,
          x_axis.label(i));
  }
  write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#94a3b8"/>)", kLeft,
        kTop + height, kLeft + width, kTop + height);
  write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", kLeft + width / 2,
        options.height - 12.0, svg_escape(options.x_label));
  write(
      R"svg(<text transform="translate(20 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg",
      kTop + height / 2, svg_escape(options.y_label));

  const auto polyline = [&](const Points& points, const char* colour, double stroke,
                            double opacity) {
    if (points.empty()) return;
    out += R"(<polyline fill="none" stroke-linejoin="round" points=")";
    for (const auto& [x, y] : points)
      fmt::format_to(std::back_inserter(out), "{:.1f},{:.1f} ", px(x), py(y));
    write(R"(" stroke="{}" stroke-width="{}" stroke-opacity="{}"/>)", colour, stroke, opacity);
  };
  double legend = kTop + 8;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    const Points points = finite_points(series[i].points);
    if (series[i].noisy) {
      polyline(points, colour, 1, 0.25);
      polyline(smoothed(points), colour, 2, 1);
    } else {
      polyline(points, colour, 2, 1);
      for (const auto& [x, y] : points)
        write(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", px(x), py(y), colour);
    }
    const double x = kLeft + width - 150;
    write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="3"/>)",
          x, legend, x + 22, legend, colour);
    write(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 30, legend + 4,
          svg_escape(series[i].name));
    legend += 20;
  }
  out += "</svg>\n";
  return out;
}

}  // namespace weft
