#include "weft/models/plots/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "weft/core/error.h"
#include "weft/models/plots/svg_axis.h"
#include "weft/models/plots/svg_escape.h"

namespace weft {
namespace {

constexpr const char* kColours[] = {"#2563eb", "#ea580c", "#059669",
                                    "#9333ea", "#dc2626", "#64748b"};
constexpr double kLeft = 68, kRight = 24, kTop = 52, kBottom = 56;
constexpr double kLegendRow = 20, kLegendLine = 30;
constexpr double kLetter = 7.2;   // approximate width of a character in the legend
constexpr double kCutMargin = 4;  // so that marks on the frame are not clipped
constexpr double kAllTitle = 40;  // height of the common title of several charts

using Points = std::vector<std::pair<double, double>>;

/// Returns the exponential moving average over about a thirtieth of the points, starting at the
/// first value.
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

Points points_on_axes(const PlotSeries& series, const PlotOptions& options) {
  Points out;
  const auto fits = [](double v, PlotScale scale) {
    return std::isfinite(v) && (scale == PlotScale::linear || v > 0);
  };
  for (const auto& point : series.points) {
    if (fits(point.first, options.x_scale) && fits(point.second, options.y_scale))
      out.push_back(point);
  }
  return out;
}

PlotAxis axis(const PlotRange& range, PlotScale scale, int ticks) {
  return scale == PlotScale::linear ? PlotAxis::linear(range, ticks) : PlotAxis::logarithmic(range);
}

PlotAxis x_axis(const LinePlot& plot) {
  PlotRange range;
  for (const PlotSeries& s : plot.series) {
    for (const auto& point : points_on_axes(s, plot.options)) range.add(point.first);
  }
  return axis(range, plot.options.x_scale, std::clamp(plot.options.width / 80, 4, 8));
}

PlotAxis y_axis(const LinePlot& plot) {
  const PlotOptions& options = plot.options;
  PlotRange range;
  for (const PlotSeries& s : plot.series) {
    for (const auto& point : points_on_axes(s, options)) range.add(point.second);
  }
  if (!std::isnan(options.y_low)) range.low = options.y_low;
  if (!std::isnan(options.y_high)) range.high = options.y_high;
  return axis(range, options.y_scale, 6);
}

double legend_width(const std::vector<PlotSeries>& series) {
  double widest = 0;
  for (const PlotSeries& s : series) {
    const auto letters = std::count_if(s.name.begin(), s.name.end(),
                                       [](char c) { return (c & 0xC0) != 0x80; });  // UTF-8
    widest = std::max(widest, kLetter * static_cast<double>(letters));
  }
  return std::max(120.0, kLegendLine + widest);
}

/// A chart with its dimensions in pixels.
class Chart {
 public:
  Chart(const LinePlot& plot, double x0, double y0, int title_size, std::string& out)
      : plot_(plot),
        title_size_(title_size),
        x_axis_(x_axis(plot)),
        y_axis_(y_axis(plot)),
        left_(x0 + kLeft),
        top_(y0 + kTop),
        width_(plot.options.width - kLeft - kRight),
        height_(plot.options.height - kTop - kBottom),
        out_(out) {
    if (plot.options.legend == PlotLegend::beside) width_ -= legend_width(plot.series) + 8;
  }

  void draw() {
    draw_frame();
    const bool cut = !std::isnan(plot_.options.y_low) || !std::isnan(plot_.options.y_high);
    if (cut) {  // a nested <svg> element clips its contents
      write(
          R"(<svg x="{0:.1f}" y="{1:.1f}" width="{2:.1f}" height="{3:.1f}" viewBox="{0:.1f} {1:.1f} {2:.1f} {3:.1f}">)",
          left_ - kCutMargin, top_ - kCutMargin, width_ + 2 * kCutMargin, height_ + 2 * kCutMargin);
    }
    for (std::size_t i = 0; i < plot_.series.size(); ++i) draw_series(plot_.series[i], colour(i));
    if (cut) write("</svg>");
    draw_legend();
  }

 private:
  template <class... T>
  void write(fmt::format_string<T...> format, T&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(args)...);
    out_ += '\n';
  }
  double px(double x) const { return left_ + x_axis_.place(x) * width_; }
  double py(double y) const { return top_ + height_ - y_axis_.place(y) * height_; }
  const char* colour(std::size_t i) const {
    const int of = plot_.series[i].colour;
    return kColours[(of < 0 ? i : static_cast<std::size_t>(of)) % std::size(kColours)];
  }

  void draw_frame() {
    const PlotOptions& options = plot_.options;
    write(
        R"(<text x="{:.0f}" y="{:.0f}" font-size="{}" font-weight="600" fill="#0f172a">{}</text>)",
        left_, top_ - 24, title_size_, svg_escape(options.title));
    for (const double tick : y_axis_.ticks()) {
      const double y = py(tick);
      write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#e2e8f0"/>)", left_, y,
            left_ + width_, y);
      write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", left_ - 8, y + 4,
            y_axis_.label(tick));
    }
    const double bottom = top_ + height_;
    for (const double tick : x_axis_.ticks()) {
      const double x = px(tick);
      write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#94a3b8"/>)", x,
            bottom, x, bottom + 5);
      write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x, bottom + 20,
            x_axis_.label(tick));
    }
    write(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#94a3b8"/>)", left_,
          bottom, left_ + width_, bottom);
    write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", left_ + width_ / 2,
          bottom + kBottom - 12, svg_escape(options.x_label));
    write(
        R"svg(<text transform="translate({:.1f} {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)svg",
        left_ - kLeft + 20, top_ + height_ / 2, svg_escape(options.y_label));
  }

  void draw_line(const Points& points, const char* ink, double stroke, double opacity,
                 const char* dashes = "") {
    if (points.empty()) return;
    out_ += R"(<polyline fill="none" stroke-linejoin="round" points=")";
    for (const auto& [x, y] : points)
      fmt::format_to(std::back_inserter(out_), "{:.1f},{:.1f} ", px(x), py(y));
    write(R"(" stroke="{}" stroke-width="{}" stroke-opacity="{}"{}/>)", ink, stroke, opacity,
          dashes);
  }

  void draw_series(const PlotSeries& series, const char* ink) {
    const Points points = points_on_axes(series, plot_.options);
    if (series.noisy) {
      draw_line(points, ink, 1, 0.25);
      draw_line(smoothed(points), ink, 2, 1);
      return;
    }
    if (series.dashed) return draw_line(points, ink, 2, 1, R"( stroke-dasharray="7 5")");
    if (!series.scattered) draw_line(points, ink, 2, 1);
    for (const auto& [x, y] : points)
      write(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.5" fill="{}"/>)", px(x), py(y), ink);
  }

  void draw_legend() {
    const PlotLegend place = plot_.options.legend;
    const auto named = std::count_if(plot_.series.begin(), plot_.series.end(),
                                     [](const PlotSeries& s) { return !s.name.empty(); });
    const double wide = legend_width(plot_.series), high = kLegendRow * static_cast<double>(named);
    const bool at_left = place == PlotLegend::top_left || place == PlotLegend::bottom_left,
               below = place == PlotLegend::bottom_left || place == PlotLegend::bottom_right;
    const double x = place == PlotLegend::beside ? left_ + width_ + 16
                     : at_left                   ? left_ + 16
                                                 : left_ + width_ - wide;
    double y = below ? top_ + height_ - high : top_ + 8;
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const PlotSeries& series = plot_.series[i];
      if (series.name.empty()) continue;
      if (series.scattered) {
        write(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"/>)", x + 11, y, colour(i));
      } else {
        write(
            R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="3"{}/>)",
            x, y, x + 22, y, colour(i), series.dashed ? R"( stroke-dasharray="6 4")" : "");
      }
      write(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + kLegendLine, y + 4,
            svg_escape(series.name));
      y += kLegendRow;
    }
  }

  const LinePlot& plot_;
  int title_size_;
  PlotAxis x_axis_, y_axis_;
  double left_, top_, width_, height_;
  std::string& out_;
};

}  // namespace

std::string svg_line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options) {
  return svg_line_plots({{series, options}}, "", 1);
}

std::string svg_line_plots(const std::vector<LinePlot>& plots, const std::string& title,
                           int per_row) {
  if (per_row < 1) throw ArgumentError(fmt::format("per_row must be at least 1, not {}", per_row));
  std::string body;
  double y = title.empty() ? 0 : kAllTitle, right = 0;
  const auto row = static_cast<std::size_t>(per_row);
  for (std::size_t first = 0; first < plots.size(); first += row) {
    double x = 0, high = 0;
    for (std::size_t i = first; i < std::min(first + row, plots.size()); ++i) {
      Chart(plots[i], x, y, title.empty() ? 17 : 15, body).draw();
      x += plots[i].options.width;
      high = std::max<double>(high, plots[i].options.height);
    }
    right = std::max(right, x);
    y += high;
  }
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" font-family="system-ui, sans-serif" font-size="13" fill="#334155">)",
      right, y);
  out += "\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  if (!title.empty()) {
    out += fmt::format(
        R"(<text x="{:.0f}" y="36" font-size="19" font-weight="600" fill="#0f172a">{}</text>)",
        kLeft, svg_escape(title));
    out += '\n';
  }
  return out + body + "</svg>\n";
}

}  // namespace weft
