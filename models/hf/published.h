// Published models by name, as the configs that were published: for planning, benchmarks and
// counting. No weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/weights/parameter_count.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// What a model reads.
enum class Modality {
  text,          // input_ids
  text_to_text,  // input_ids and decoder_input_ids
  image,         // pixel_values
};

/// A model as its authors published it.
struct PublishedModel {
  std::string name;  // "bert-base"
  std::string architecture;
  /// The class that learns: with a head, which that of an encoder lacks.
  std::string trained;
  std::string config;           // config.json
  std::int64_t parameters = 0;  // the published number, shared ones counted once
  Modality modality = Modality::text;
  std::int64_t image_size = 0;  // pixels on a side
  std::int64_t patches = 0;     // of an image
  /// Of one stack (the other has as many), for the textbook's formulas.
  std::int64_t layers = 0, width = 0;
};

/// All of them, by family and size.
const std::vector<PublishedModel>& published_models();
/// Throws ArgumentError that lists the names.
const PublishedModel& find_published_model(std::string_view name);

/// The inputs of a batch: ids are i32 [batch, seq] (the decoder's too), images f32. `labels` adds
/// i32 labels, so that the class that is trained has a loss: [batch, seq], of images [batch].
InputTypes published_inputs(const PublishedModel& model, std::int64_t batch, std::int64_t seq,
                            bool labels = false);

using weft::count_parameters;

}  // namespace hf
}  // namespace weft
