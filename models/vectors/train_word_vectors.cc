#include "weft/models/vectors/train_word_vectors.h"

#include <string_view>

namespace weft {
namespace {

constexpr std::string_view kModels[] = {"skip-gram", "cbow", "fasttext", "glove", "lsa"};
constexpr std::string_view kMatrices[] = {"ppmi", "tf-idf"};

using Report = std::function<void(const VectorProgress&)>;

// Runs all training steps of a model and reports every epoch. `step` returns the loss of a step.
template <class Step>
void take_steps(std::int64_t steps, int epochs, std::int64_t items, const Report& report,
                Step step) {
  const std::int64_t each = steps / epochs;
  double cost = 0;
  for (std::int64_t s = 1; s <= steps; ++s) {
    cost += step();
    if (s % each != 0) continue;
    const auto epoch = static_cast<int>(s / each);
    if (report) report({epoch, epochs, epoch * items, cost / static_cast<double>(each)});
    cost = 0;
  }
}

}  // namespace

ChoiceNames choice_names(VectorModel) { return {"the model", kModels}; }
ChoiceNames choice_names(LsaMatrix) { return {"the matrix", kMatrices}; }

VectorRecipe default_recipe(VectorModel model) {
  VectorRecipe recipe{.model = model};
  recipe.sampling.epochs = 15;
  switch (model) {
    case VectorModel::skip_gram: break;
    case VectorModel::cbow:
      recipe.sampling.cbow = true;
      recipe.sampling.rate = 0.1;
      break;
    case VectorModel::fasttext:
      recipe.sampling.subwords.emplace();
      recipe.sampling.rate = 0.1;
      break;
    case VectorModel::glove:
      recipe.glove.epochs = 25;
      recipe.glove.max_count = 10;  // as in the authors' example for a small text
      break;
    case VectorModel::lsa:
      recipe.counts.window = 5;
      recipe.lsa.width = 200;
      break;
  }
  return recipe;
}

WordVectors train_word_vectors(const WordText& text, const VectorRecipe& recipe, Workers& workers,
                               const Report& report) {
  switch (recipe.model) {
    case VectorModel::skip_gram:
    case VectorModel::cbow:
    case VectorModel::fasttext: {
      NegativeSampling model(text, recipe.sampling);
      take_steps(model.steps(), recipe.sampling.epochs, text.size(), report, [&] {
        model.advance(workers);
        return 0.0;
      });
      return model.vectors();
    }
    case VectorModel::glove: {
      const SparseMatrix counts = co_occurrences(text, recipe.counts, workers);
      Glove model(counts, recipe.glove);
      take_steps(model.steps(), recipe.glove.epochs, std::ssize(counts.value), report,
                 [&] { return model.advance(workers); });
      return model.vectors(text.counts);
    }
    case VectorModel::lsa: break;
  }
  const SparseMatrix matrix = recipe.matrix == LsaMatrix::tf_idf
                                  ? tf_idf_matrix(text)
                                  : positive_pmi(co_occurrences(text, recipe.counts, workers));
  return lsa(matrix, text.counts, recipe.lsa, workers);
}

}  // namespace weft
