#include "weft/models/tasks/text_classification/classifier_head.h"

#include "weft/models/data/formats/ascii_case.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::string_view kSummaries[] = {"cls", "mean", "max"};

}  // namespace

ChoiceNames choice_names(Summary) { return {"summary", kSummaries}; }

void ClassifierHead::check() const {
  check::rate("word_dropout", word_dropout);
  check::at_least("members", members, 1);
}

const FieldList<ClassifierHead>& ClassifierHead::fields() {
  static const auto list =
      FieldList<ClassifierHead>("the head of a text classifier")
          .add("summary", &ClassifierHead::summary,
               "how token vectors are pooled into one vector per text: by a pooler over [CLS], or "
               "the mean or maximum over all tokens")
          .add("lower_case", &ClassifierHead::lower_case, "convert A to Z to lower case")
          .add("word_dropout", &ClassifierHead::word_dropout,
               "fraction of training tokens that are replaced by the unknown token; sampled in "
               "every step")
          .add("by_length", &ClassifierHead::by_length,
               "batch training texts of similar length together, which reduces padding")
          .added("members", &ClassifierHead::members,
                 "number of equal feature groups that are trained as separate classifiers; the "
                 "prediction is their mean")
          .added("pooler", &ClassifierHead::pooler,
                 "activation of the pooler over [CLS]; weights from a folder determine it");
  return list;
}

std::string ClassifierHead::read(std::string_view text) const {
  return lower_case ? ascii_lower(text) : std::string(text);
}

}  // namespace weft
