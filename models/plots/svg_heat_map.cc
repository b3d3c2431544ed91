#include "weft/models/plots/svg_heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "weft/core/error.h"
#include "weft/models/plots/svg_escape.h"

namespace weft {
namespace {

using Colour = std::array<double, 3>;  // red, green, blue, 0 to 255

constexpr std::array<Colour, 4> kBlues = {
    {{248, 250, 252}, {147, 197, 253}, {37, 99, 235}, {23, 37, 84}}};
constexpr std::array<Colour, 2> kGreys = {{{0, 0, 0}, {255, 255, 255}}};

constexpr double kMargin = 24, kGap = 14, kTitle = 40, kPanelTitle = 24, kAxis = 24, kScale = 74;
constexpr double kCharacter = 6.8;  // approximate width of a character in a label

/// Interpolates between colour stops: t = 0 is the first stop, t = 1 the last.
template <std::size_t N>
Colour between(const std::array<Colour, N>& stops, double t) {
  const double at = t * static_cast<double>(N - 1);
  const auto i = std::min(static_cast<std::size_t>(at), N - 2);
  Colour out;
  for (std::size_t c = 0; c < 3; ++c)
    out[c] = stops[i][c] + (at - static_cast<double>(i)) * (stops[i + 1][c] - stops[i][c]);
  return out;
}

Colour colour_at(HeatColours colours, double t) {
  return colours == HeatColours::greys ? between(kGreys, t) : between(kBlues, t);
}

std::string hex(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(colour[0]), std::lround(colour[1]),
                     std::lround(colour[2]));
}

/// Returns a text colour that is readable on `c`, chosen by its Rec. 709 luma.
const char* ink_on(const Colour& c) {
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] < 140 ? "#ffffff" : "#0f172a";
}

/// Returns the approximate width of a UTF-8 text, based on the number of characters, not bytes.
double text_width(std::string_view text) {
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  return kCharacter * static_cast<double>(characters);
}

double widest(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, text_width(label));
  return width;
}

void check(const HeatMap& map) {
  const auto require = [&](bool fits, const char* what, std::size_t found) {
    if (fits) return;
    throw ArgumentError(fmt::format("the heat map '{}' of {} x {} has {} {}", map.title, map.rows,
                                    map.columns, found, what));
  };
  require(map.rows >= 0 && map.columns >= 0 &&
              map.values.size() == static_cast<std::size_t>(map.rows * map.columns),
          "values", map.values.size());
  const auto fits = [](const std::vector<std::string>& labels, std::int64_t count) {
    return labels.empty() || labels.size() == static_cast<std::size_t>(count);
  };
  require(fits(map.row_labels, map.rows), "labels of rows", map.row_labels.size());
  require(fits(map.column_labels, map.columns), "labels of columns", map.column_labels.size());
}

/// A heat map with its dimensions in pixels.
class Panel {
 public:
  explicit Panel(const HeatMap& map) : map_(map) {
    check(map);
    low_ = std::isnan(map.low) ? 0 : map.low;
    high_ = std::isnan(map.high) ? low_ : map.high;
    double number_width = 0;
    for (const double v : map.values) {
      if (!std::isfinite(v)) continue;
      if (std::isnan(map.low)) low_ = std::min(low_, v);
      if (std::isnan(map.high)) high_ = std::max(high_, v);
      number_width = std::max(number_width, text_width(number(v)));
    }
    if (!(high_ > low_)) high_ = low_ + 1;
    const double fitted =
        std::clamp(480.0 / static_cast<double>(std::max<std::int64_t>({map.rows, map.columns, 1})),
                   10.0, 44.0);
    cell_ = map.cell > 0 ? map.cell : fitted;
    if (map.show_values && map.cell <= 0) cell_ = std::max(cell_, number_width + 8);
    left_ = (map.row_axis.empty() ? 0 : kAxis) +
            (map.row_labels.empty() ? 0 : widest(map.row_labels) + 8);
    tilted_ = widest(map.column_labels) > cell_;
    bottom_ = (map.column_axis.empty() ? 0 : kAxis) + (map.column_labels.empty() ? 0
                                                       : tilted_ ? widest(map.column_labels) + 8
                                                                 : kAxis);
    top_ = map.title.empty() ? 0 : kPanelTitle;
  }

  double grid_width() const { return cell_ * static_cast<double>(map_.columns); }
  double grid_height() const { return cell_ * static_cast<double>(map_.rows); }
  double width() const {
    return std::max(left_ + grid_width() + (map_.show_scale ? kScale : 0), text_width(map_.title));
  }
  double height() const { return top_ + grid_height() + bottom_; }

  /// Draws the panel with its upper left corner at (x0, y0).
  void draw(double x0, double y0, std::string& out) const {
    const auto write = [&]<class... T>(fmt::format_string<T...> format, T&&... args) {
      fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
      out += '\n';
    };
    const double x = x0 + left_, y = y0 + top_;
    if (!map_.title.empty()) {
      write(R"(<text x="{:.1f}" y="{:.1f}" font-weight="600">{}</text>)", x, y - 9,
            svg_escape(map_.title));
    }
    write(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="#e2e8f0"/>)", x, y,
          grid_width(), grid_height());
    // Cells with numbers are separated by a gap; the pixels of an image are not.
    const double gap = map_.show_values ? 1 : 0;
    for (std::int64_t r = 0; r < map_.rows; ++r) {
      for (std::int64_t c = 0; c < map_.columns; ++c) {
        const double v = map_.values[static_cast<std::size_t>(r * map_.columns + c)];
        if (!std::isfinite(v)) continue;
        const Colour colour =
            colour_at(map_.colours, std::clamp((v - low_) / (high_ - low_), 0.0, 1.0));
        const double left = x + static_cast<double>(c) * cell_;
        const double above = y + static_cast<double>(r) * cell_;
        write(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)", left,
              above, cell_ - gap, cell_ - gap, hex(colour));
        if (map_.show_values) {
          write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" fill="{}">{}</text>)",
                left + cell_ / 2, above + cell_ / 2 + 4, ink_on(colour), number(v));
        }
      }
    }
    draw_labels(x, y, write);
    if (map_.show_scale) draw_scale(x + grid_width() + 14, y, write);
  }

 private:
  std::string number(double v) const { return fmt::format("{:.{}f}", v, map_.decimals); }

  template <class Write>
  void draw_labels(double x, double y, const Write& write) const {
    for (std::size_t r = 0; r < map_.row_labels.size(); ++r) {
      write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", x - 6,
            y + (static_cast<double>(r) + 0.5) * cell_ + 4, svg_escape(map_.row_labels[r]));
    }
    for (std::size_t c = 0; c < map_.column_labels.size(); ++c) {
      const double at = x + (static_cast<double>(c) + 0.5) * cell_, below = y + grid_height();
      const std::string label = svg_escape(map_.column_labels[c]);
      if (tilted_) {
        write(
            R"svg(<text transform="translate({:.1f} {:.1f}) rotate(-90)" text-anchor="end">{}</text>)svg",
            at + 4, below + 6, label);
      } else {
        write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", at, below + 18,
              label);
      }
    }
    if (!map_.column_axis.empty()) {
      write(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle" font-weight="600">{}</text>)",
            x + grid_width() / 2, y + grid_height() + bottom_ - 6, svg_escape(map_.column_axis));
    }
    if (!map_.row_axis.empty()) {
      write(
          R"svg(<text transform="translate({:.1f} {:.1f}) rotate(-90)" text-anchor="middle" font-weight="600">{}</text>)svg",
          x - left_ + 14, y + grid_height() / 2, svg_escape(map_.row_axis));
    }
  }

  /// Draws a colour bar with the highest value at the top.
  template <class Write>
  void draw_scale(double x, double y, const Write& write) const {
    constexpr int kSteps = 32;
    const double step = grid_height() / kSteps;
    for (int i = 0; i < kSteps; ++i) {
      // Each step overlaps the next one by half a pixel, so that there are no visible gaps.
      write(R"(<rect x="{:.1f}" y="{:.2f}" width="12" height="{:.2f}" fill="{}"/>)", x,
            y + i * step, step + (i + 1 < kSteps ? 0.5 : 0),
            hex(colour_at(map_.colours, 1 - (i + 0.5) / kSteps)));
    }
    write(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 18, y + 10, number(high_));
    write(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 18, y + grid_height(), number(low_));
  }

  const HeatMap& map_;
  double low_ = 0, high_ = 0, cell_ = 0, left_ = 0, bottom_ = 0, top_ = 0;
  bool tilted_ = false;  // column labels are rotated because they are too long
};

}  // namespace

HeatMap heat_map(const Tensor& matrix) {
  if (matrix.sizes().size() != 2)
    throw ShapeError(fmt::format("a heat map requires a matrix, not {}", matrix.type_str()));
  HeatMap map{.rows = matrix.sizes()[0], .columns = matrix.sizes()[1]};
  for (std::int64_t i = 0; i < matrix.numel(); ++i) map.values.push_back(matrix.at(i));
  return map;
}

std::string svg_heat_maps(const std::vector<HeatMap>& maps, const HeatMapOptions& options) {
  if (options.panels_per_row < 1) {
    throw ArgumentError(
        fmt::format("panels_per_row must be at least 1, not {}", options.panels_per_row));
  }
  const std::vector<Panel> panels(maps.begin(), maps.end());
  std::string body;
  double y = kMargin + (options.title.empty() ? 0 : kTitle),
         right = text_width(options.title) * 1.4;
  const auto per_row = static_cast<std::size_t>(options.panels_per_row);
  for (std::size_t first = 0; first < panels.size(); first += per_row) {
    double x = kMargin, height = 0;
    for (std::size_t i = first; i < std::min(first + per_row, panels.size()); ++i) {
      panels[i].draw(x, y, body);
      x += panels[i].width() + kGap;
      height = std::max(height, panels[i].height());
    }
    right = std::max(right, x - kGap);
    y += height + kGap;
  }
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" font-family="system-ui, sans-serif" font-size="12" fill="#334155">)",
      right + kMargin, y + kMargin - kGap);
  out += "\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  if (!options.title.empty()) {
    out += fmt::format(
        R"(<text x="{:.0f}" y="40" font-size="17" font-weight="600" fill="#0f172a">{}</text>)",
        kMargin, svg_escape(options.title));
    out += '\n';
  }
  return out + body + "</svg>\n";
}

}  // namespace weft
