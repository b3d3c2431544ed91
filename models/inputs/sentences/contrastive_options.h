// Options of contrastive training of text embeddings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/families/token_pooling.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// How a text encoder is trained on queries and passages: InfoNCE over the cosines of their vectors
/// (graph/functions/composed/info_nce.h; MultipleNegativesRankingLoss of Sentence Transformers).
struct ContrastiveOptions {
  /// The cosines are divided by the temperature; a number above 0.
  double temperature = 0.05;
  /// Averages the loss with that of finding the query of each passage among the queries.
  bool symmetric = false;
  /// The largest number of given negatives per pair that are used: the first ones of each line.
  std::int64_t negatives = 4;
  /// Also trains the first values of each vector as vectors of these sizes (Kusupati et al. 2022,
  /// "Matryoshka Representation Learning"). The loss is the weighted sum of the losses of all
  /// sizes. The whole vectors are always trained, with weight 1 unless their size is listed.
  std::vector<double> dimensions = {};
  std::vector<double> dimension_weights = {};  // one per entry of `dimensions`; empty: all 1
  /// The pooling of models without modules of Sentence Transformers. For other models, it is that
  /// of their module Pooling.
  TextPooling pooling = TextPooling::mean;
  /// Texts that are inserted before every query and every passage. Empty: the prompts of the model
  /// called "query" and "document" or "passage", else its default prompt.
  std::string query_prompt = {}, passage_prompt = {};
  /// Maximum number of tokens of a text, including special tokens and the prompt; longer texts are
  /// truncated. 0: the limit of the model.
  std::int64_t max_tokens = 0;

  /// Throws an ArgumentError that names the field, its value and the allowed values.
  void check() const;
  /// Returns all fields with their help texts.
  static const FieldList<ContrastiveOptions>& fields();
  friend bool operator==(const ContrastiveOptions&, const ContrastiveOptions&) = default;
};

}  // namespace weft
