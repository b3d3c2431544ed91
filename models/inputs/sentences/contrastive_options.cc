#include "weft/models/inputs/sentences/contrastive_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/fields/check.h"

namespace weft {

void ContrastiveOptions::check() const {
  check::positive("temperature", temperature);
  check::at_least("negatives", negatives, 0);
  check::at_least("max_tokens", max_tokens, 0);
  for (const double size : dimensions) {
    if (!(size >= 1 && size <= 1e6) || size != std::floor(size))
      throw ArgumentError(fmt::format("dimensions must be positive integers, not {}", size));
    if (std::count(dimensions.begin(), dimensions.end(), size) > 1)
      throw ArgumentError(fmt::format("dimensions contains {} twice", size));
  }
  if (!dimension_weights.empty() && dimension_weights.size() != dimensions.size()) {
    throw ArgumentError(
        fmt::format("dimension_weights must have one weight for each of the {} dimensions, not {}",
                    dimensions.size(), dimension_weights.size()));
  }
  for (const double weight : dimension_weights) check::positive("dimension_weights", weight);
}

const FieldList<ContrastiveOptions>& ContrastiveOptions::fields() {
  static const auto list =
      FieldList<ContrastiveOptions>("the training options of a text encoder")
          .add("temperature", &ContrastiveOptions::temperature,
               "the cosines of vectors are divided by the temperature")
          .add("symmetric", &ContrastiveOptions::symmetric,
               "also find the query of each passage among the queries of the batch")
          .add("negatives", &ContrastiveOptions::negatives,
               "maximum number of given negatives per pair: the first ones of each line")
          .add("dimensions", &ContrastiveOptions::dimensions,
               "also train the first values of vectors as shorter vectors (matryoshka): sizes, "
               "separated by commas")
          .add("dimension_weights", &ContrastiveOptions::dimension_weights,
               "weights of the losses of the sizes in dimensions; by default 1")
          .add("pool", &ContrastiveOptions::pooling,
               "how token vectors are pooled into one vector per text, for models without modules "
               "of Sentence Transformers")
          .add("query_prompt", &ContrastiveOptions::query_prompt,
               "text before every query; by default the prompt of the model")
          .add("passage_prompt", &ContrastiveOptions::passage_prompt,
               "text before every passage; by default the prompt of the model")
          .add("max_tokens", &ContrastiveOptions::max_tokens,
               "longer texts are truncated to this number of tokens; 0 = the limit of the model");
  return list;
}

}  // namespace weft
