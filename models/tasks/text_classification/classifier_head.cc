#include "weft/models/tasks/text_classification/classifier_head.h"

#include "weft/models/data/ascii_case.h"
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
               "what stands for a text: [CLS] through a pooler, or the mean or the largest values "
               "of all tokens")
          .add("lower_case", &ClassifierHead::lower_case, "A to Z are read as a to z")
          .add("word_dropout", &ClassifierHead::word_dropout,
               "share of the tokens of a training text that are hidden, others in every step")
          .add("by_length", &ClassifierHead::by_length,
               "training texts of like length share a batch, which saves padding")
          .added("members", &ClassifierHead::members,
                 "equal parts of the features that learn the classes each for itself; the mean of "
                 "what they say counts")
          .added("pooler", &ClassifierHead::pooler,
                 "activation of the pooler over [CLS]; of weights from a folder that of its type");
  return list;
}

std::string ClassifierHead::to_json() const { return fields().to_json(*this); }

ClassifierHead ClassifierHead::from_json(std::string_view json) { return fields().from_json(json); }

std::string ClassifierHead::read(std::string_view text) const {
  return lower_case ? ascii_lower(text) : std::string(text);
}

}  // namespace weft
