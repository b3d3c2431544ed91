// Random augmentation of training images.
#pragma once

#include <cstdint>

#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/images/image_set.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// Random changes that are applied to a training image. The changes differ each time the image is
/// used. The defaults leave images unchanged.
struct ImageAugmentation {
  /// Pads the image with this number of black pixels on each side, then takes a random crop of the
  /// original size.
  std::int64_t padding = 0;
  /// Shifts by up to this number of pixels in each direction. The shift need not be a whole number.
  double shift = 0;
  double rotation = 0;  // rotates by up to this number of degrees in either direction
  /// Scales by a factor from 1 - zoom to 1 + zoom. For example, 0.1 means a factor from 0.9 to 1.1.
  double zoom = 0;
  /// If below 1, takes a random part of at least this fraction of the area, with an aspect ratio
  /// from 3:4 to 4:3, and resizes it to the size of the image (Szegedy et al. 2015).
  double min_area = 1;
  bool flip = false;  // mirrors half of the images horizontally

  /// Throws ArgumentError with the field, its value and the valid range.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<ImageAugmentation>& fields();
  friend bool operator==(const ImageAugmentation&, const ImageAugmentation&) = default;
};

/// Returns a randomly augmented copy of image `index` in training step `step`. The result is a
/// function of `image`, `how`, `seed`, `step` and `index`.
Tensor augment(const Tensor& image, const ImageAugmentation& how, std::uint64_t seed,
               std::int64_t step, std::int64_t index);

/// Training batches of an image set over epochs (see Epochs). A batch is a function of (seed,
/// step), so that a resumed run uses the same batches as an uninterrupted run. Thread-safe.
class ImageBatches {
 public:
  /// `set` must outlive this object. Throws ArgumentError if the set is empty or the batch size is
  /// below 1.
  ImageBatches(const ImageSet& set, std::int64_t batch, const ImageAugmentation& how,
               std::uint64_t seed);
  /// Returns a part of a batch. Throws ArgumentError under the same conditions as
  /// BatchPart::rows().
  ImageSet operator()(const BatchPart& part) const;

 private:
  const ImageSet& set_;
  std::int64_t batch_;
  ImageAugmentation how_;
  std::uint64_t seed_;
  Epochs epochs_;
};

}  // namespace weft
