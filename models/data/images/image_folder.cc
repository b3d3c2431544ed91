#include "weft/models/data/images/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/data/images/image_csv.h"
#include "weft/models/data/images/image_idx.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Fraction of the images that forms the test set if there is no separate test set.
constexpr double kTestFraction = 0.1;

/// Returns the entries of a folder in byte order of their names. Throws IoError if it cannot be
/// read.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    found.push_back(it->path());
  if (error)
    throw IoError(fmt::format("cannot read the folder {}: {}", folder.string(), error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

bool is_image_name(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".bmp";
}

/// Returns `set` with every image converted by preprocess_image(). Returns the set itself if that
/// changes nothing.
ImageSet fitted(ImageSet set, const ImageSize& size, const std::optional<ImageGeometry>& geometry) {
  if (set.size() == size && (!geometry || *geometry == default_geometry(size))) return set;
  Tensor images = Tensor::empty(DType::f32, {set.count(), size.channels, size.height, size.width});
  auto* out = images.mutable_data<float>();
  for (std::int64_t i = 0; i < set.count(); ++i) {
    const Tensor image = preprocess_image(set.image(i), size, geometry, fmt::format("image {}", i));
    out = std::copy_n(image.data<float>(), image.numel(), out);
  }
  set.images = images;
  return set;
}

/// Sets the class names of both sets to the class names of the set with more classes.
void share_classes(ImageData& data) {
  auto& most = data.train.classes.size() < data.test.classes.size() ? data.test : data.train;
  auto& other = &most == &data.train ? data.test : data.train;
  if (!std::equal(other.classes.begin(), other.classes.end(), most.classes.begin())) {
    throw FormatError(
        fmt::format("the classes of the test set ({}) differ from the classes of the training "
                    "set ({})",
                    fmt::join(data.test.classes, ", "), fmt::join(data.train.classes, ", ")));
  }
  other.classes = most.classes;
}

ImageData hold_out_last_part(const ImageSet& set, const std::string& of) {
  const auto kept =
      static_cast<std::int64_t>(static_cast<double>(set.count()) * (1 - kTestFraction));
  return {set.slice(0, kept), set.slice(kept, set.count()), "the last tenth of " + of};
}

std::optional<fs::path> existing(const fs::path& path) {
  for (const char* ending : {"", ".gz"}) {
    const fs::path candidate = path.string() + ending;
    if (fs::exists(candidate)) return candidate;
  }
  return std::nullopt;
}

/// Reads the images in `prefix`-images-idx3-ubyte with their labels. Returns std::nullopt if there
/// is no such file.
std::optional<ImageSet> read_mnist(const fs::path& folder, const std::string& prefix) {
  const auto images = existing(folder / (prefix + "-images-idx3-ubyte"));
  if (!images) return std::nullopt;
  const auto labels = existing(folder / (prefix + "-labels-idx1-ubyte"));
  if (!labels) {
    throw FormatError(
        fmt::format("{} contains no labels for {}", folder.string(), images->filename().string()));
  }
  const Tensor pixels = read_idx(images->string()), classes = read_idx(labels->string());
  if (pixels.rank() != 3 || pixels.dtype() != DType::u8 || classes.rank() != 1 ||
      classes.dtype() != DType::u8 || pixels.size(0) != classes.size(0) || pixels.numel() == 0) {
    throw FormatError(
        fmt::format("{}: images and labels must be u8 [count, height, width] and u8 "
                    "[count], not {} and {} (sizes at byte 4)",
                    images->string(), pixels.type_str(), classes.type_str()));
  }
  ImageSet set{Tensor::empty(DType::f32, {pixels.size(0), 1, pixels.size(1), pixels.size(2)})};
  std::transform(pixels.span<std::uint8_t>().begin(), pixels.span<std::uint8_t>().end(),
                 set.images.mutable_data<float>(),
                 [](std::uint8_t v) { return static_cast<float>(v) / 255.0F; });
  for (const std::uint8_t label : classes.span<std::uint8_t>()) {
    set.labels.push_back(label);
    for (std::size_t c = set.classes.size(); c <= label; ++c)
      set.classes.push_back(std::to_string(c));
  }
  return set;
}

std::optional<ImageData> load_mnist(const fs::path& folder) {
  std::optional<ImageSet> train = read_mnist(folder, "train"), test = read_mnist(folder, "t10k");
  if (train && test) return ImageData{*train, *test, "t10k-images-idx3-ubyte"};
  if (train) return hold_out_last_part(*train, "train-images-idx3-ubyte");
  if (test) return hold_out_last_part(*test, "t10k-images-idx3-ubyte");
  return std::nullopt;
}

std::optional<ImageData> load_optdigits(const fs::path& folder) {
  fs::path train, test;
  for (const fs::path& path : entries(folder)) {
    if (path.extension() == ".tra") train = path;
    if (path.extension() == ".tes") test = path;
  }
  if (train.empty() || test.empty()) return std::nullopt;
  return ImageData{read_image_csv(train.string()), read_image_csv(test.string()),
                   test.filename().string()};
}

ImageData load_classes(const fs::path& folder, const ImageSize& size, std::uint64_t seed,
                       const std::optional<ImageGeometry>& geometry) {
  if (fs::is_directory(folder / "train")) {
    for (const char* name : {"test", "val"}) {
      if (!fs::is_directory(folder / name)) continue;
      return {read_image_folder((folder / "train").string(), size, geometry),
              read_image_folder((folder / name).string(), size, geometry), std::string(name) + "/"};
    }
  }
  auto [train, test] =
      split(read_image_folder(folder.string(), size, geometry), kTestFraction, seed);
  return {std::move(train), std::move(test),
          fmt::format("a tenth of every class, selected with seed {}", seed)};
}

}  // namespace

ImageSet read_image_folder(const std::string& path, const ImageSize& size,
                           const std::optional<ImageGeometry>& geometry) {
  ImageSet set;
  std::vector<Tensor> images;
  for (const fs::path& folder : entries(path)) {
    if (!fs::is_directory(folder)) continue;
    const std::size_t before = images.size();
    for (const fs::path& file : entries(folder)) {
      if (!is_image_name(file)) continue;
      images.push_back(preprocess_image(read_image(file.string(), size.channels), size, geometry,
                                        file.string()));
      set.labels.push_back(static_cast<std::int32_t>(set.classes.size()));
    }
    if (images.size() == before) {
      throw FormatError(fmt::format("the class folder {} has no .png, .jpg, .jpeg or .bmp file",
                                    folder.string()));
    }
    set.classes.push_back(folder.filename().string());
  }
  if (images.empty()) throw FormatError(fmt::format("{} has no class folders with images", path));
  set.images = Tensor::empty(DType::f32, {set.count(), size.channels, size.height, size.width});
  auto* out = set.images.mutable_data<float>();
  for (const Tensor& image : images) out = std::copy_n(image.data<float>(), image.numel(), out);
  return set;
}

namespace {

/// Symbolic links may lead back to one of the `visited` folders.
void add_image_files(const fs::path& folder, std::set<fs::path>& visited,
                     std::vector<std::string>& files) {
  const std::vector<fs::path> found = entries(folder);
  if (!visited.insert(fs::canonical(folder)).second) return;
  for (const fs::path& entry : found) {
    std::error_code error;  // for links without a target
    if (fs::is_directory(entry, error)) {
      add_image_files(entry, visited, files);
    } else if (is_image_name(entry)) {
      files.push_back(entry.string());
    }
  }
}

}  // namespace

std::vector<std::string> image_files(const std::string& folder) {
  std::vector<std::string> files;
  std::set<fs::path> visited;
  add_image_files(folder, visited, files);
  if (files.empty())
    throw DataError(fmt::format("{} contains no images (.png, .jpg, .jpeg, .bmp)", folder));
  return files;
}

ImageData load_image_data(const std::string& path, const ImageSize& size, std::uint64_t seed,
                          const std::optional<ImageGeometry>& geometry) {
  ImageData data;
  if (fs::is_directory(path)) {
    if (auto mnist = load_mnist(path)) {
      data = std::move(*mnist);
    } else if (auto digits = load_optdigits(path)) {
      data = std::move(*digits);
    } else {
      // These images are already converted.
      data = load_classes(path, size, seed, geometry);
      share_classes(data);
      return data;
    }
  } else if (fs::path(path).extension() == ".csv" || !fs::exists(path)) {
    data = hold_out_last_part(read_image_csv(path), fs::path(path).filename().string());
  } else {
    throw FormatError(
        fmt::format("{}: expected a folder (with MNIST files, optdigits files, or one folder per "
                    "class) or a .csv file",
                    path));
  }
  share_classes(data);
  data.train = fitted(std::move(data.train), size, geometry);
  data.test = fitted(std::move(data.test), size, geometry);
  return data;
}

}  // namespace weft
