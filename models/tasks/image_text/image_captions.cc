#include "weft/models/tasks/image_text/image_captions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

/// The path of an image and its caption.
struct Line {
  std::string path, caption, place;
};

std::vector<Line> read_caption_lines(const std::string& path) {
  std::vector<Line> lines;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
    if (trimmed_line(line).empty()) return;
    const std::string place = fmt::format("{}:{}", path, number);
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
      throw FormatError(
          fmt::format("{}: expected an image file and a caption separated by a tab", place));
    }
    const std::string_view image = trimmed_line(line.substr(0, tab)),
                           caption = trimmed_line(line.substr(tab + 1));
    if (image.empty() || caption.empty())
      throw FormatError(
          fmt::format("{}: the {} is empty", place, image.empty() ? "image file" : "caption"));
    lines.push_back({(folder / std::string(image)).string(), std::string(caption), place});
  });
  if (lines.empty()) throw FormatError(fmt::format("{}: there are no lines with images", path));
  return lines;
}

ImageCaptions chosen(const ImageCaptions& all, const std::vector<std::int64_t>& places) {
  ImageCaptions result{all.images.pick(places), {}};
  for (const std::int64_t place : places)
    result.captions.push_back(all.captions[static_cast<std::size_t>(place)]);
  std::iota(result.images.labels.begin(), result.images.labels.end(), 0);
  return result;
}

}  // namespace

ImageCaptions read_image_captions(std::span<const std::string> paths, const ImageSize& size,
                                  const std::optional<ImageGeometry>& geometry) {
  std::vector<Line> lines;
  for (const std::string& path : paths) {
    for (Line& line : read_caption_lines(path)) lines.push_back(std::move(line));
  }
  ImageCaptions result;
  result.images.images =
      Tensor::empty(DType::f32, {std::ssize(lines), size.channels, size.height, size.width});
  auto* out = result.images.images.mutable_data<float>();
  for (const Line& line : lines) {
    try {
      const Tensor image =
          preprocess_image(read_image(line.path, size.channels), size, geometry, line.path);
      out = std::copy_n(image.data<float>(), image.numel(), out);
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("{}: {}", line.place, e.what()));
    }
    result.images.labels.push_back(static_cast<std::int32_t>(result.captions.size()));
    result.captions.push_back(line.caption);
  }
  return result;
}

ImageCaptionsSplit hold_out(const ImageCaptions& all, double fraction, std::uint64_t seed) {
  const std::vector<bool> held_out = held_out_examples(all.size(), fraction, seed);
  if (fraction > 0 && all.size() < 2)
    throw DataError(fmt::format("none of {} images can be held out", all.size()));
  std::vector<std::int64_t> train, rest;
  for (std::int64_t i = 0; i < all.size(); ++i)
    (held_out[static_cast<std::size_t>(i)] ? rest : train).push_back(i);
  return {chosen(all, train), chosen(all, rest)};
}

}  // namespace weft
