// Training images as they might also have been.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/data/epochs.h"
#include "weft/models/data/image_set.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// What may happen to a training image, drawn anew every time it is used. The defaults change
/// nothing.
struct ImageAugmentation {
  std::int64_t padding = 0;  // a random crop of the image with so many black pixels around it
  double shift = 0;          // moved by up to so many pixels each way, fractions included
  double rotation = 0;       // turned by up to so many degrees each way
  double zoom = 0;           // larger or smaller by up to this factor: 0.1 is 0.9 to 1.1
  double min_area = 1;       // less than 1: a random part of at least this share of the area, with
                             // sides 3:4 to 4:3, is resized to the whole (Szegedy et al. 2015)
  bool flip = false;         // left and right change places in half of the images

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<ImageAugmentation>& fields();
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static ImageAugmentation from_json(std::string_view json);
  friend bool operator==(const ImageAugmentation&, const ImageAugmentation&) = default;
};

/// Image number `index` of training step `step`, changed at random: a function of `image`, `seed`,
/// `step` and `index`.
Tensor augment(const Tensor& image, const ImageAugmentation& how, std::uint64_t seed,
               std::int64_t step, std::int64_t index);

/// Training batches of a set, epoch after epoch (Epochs). A batch is a function of (seed, step)
/// alone, so that a resumed run sees what an uninterrupted one does. For any number of threads.
class ImageBatches {
 public:
  /// The set must outlive it. Throws ArgumentError for an empty set or a batch of less than 1.
  ImageBatches(const ImageSet& set, std::int64_t batch, const ImageAugmentation& how,
               std::uint64_t seed);
  /// Throws ArgumentError as BatchPart::rows.
  ImageSet operator()(const BatchPart& part) const;

 private:
  const ImageSet& set_;
  std::int64_t batch_;
  ImageAugmentation how_;
  std::uint64_t seed_;
  Epochs epochs_;
};

}  // namespace weft
