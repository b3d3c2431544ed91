#include "weft/models/tasks/span_answering/span_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/core/parallel.h"
#include "weft/models/data/batching/epochs.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/tasks/span_answering/span_windows.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/weighted_mean.h"

namespace weft {
namespace {

/// Approximate cost of encoding one byte of text.
constexpr double kNanosecondsPerByte = 100;

/// A question, its windows, and the targets for the windows.
struct ReadQuestion {
  Question question;
  std::vector<SpanWindow> windows;
  SpanTargets targets;
};

ReadQuestion read_question(const SpanAnswerer& model, const SquadData& data, std::int64_t place,
                           std::size_t number) {
  const SquadQuestion& asked = data.questions[static_cast<std::size_t>(place)];
  ReadQuestion read{{asked.question, data.context_of(asked)}, {}, {}};
  const TextReader reader = model.reader();
  try {
    read.windows = span_windows(reader, number, read.question, model.spans);
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("the question '{}': {}", excerpt(asked.id), e.what()));
  }
  std::size_t begin = 0, end = 0;
  if (!asked.answers.empty()) {
    begin = asked.answers.front().begin;
    end = begin + asked.answers.front().text.size();
  }
  read.targets = span_targets(read.windows, begin, end);
  return read;
}

/// Calls visit(i) for the index i of every given question, on all threads.
template <class Visit>
void for_questions(const SquadData& data, std::span<const std::int64_t> places, Visit&& visit) {
  std::size_t bytes = 0;
  for (const std::int64_t place : places)
    bytes += data.context_of(data.questions[static_cast<std::size_t>(place)]).size();
  Workers().for_chunks(
      std::ssize(places), [&](std::int64_t i, int) { visit(static_cast<std::size_t>(i)); },
      static_cast<double>(bytes) * kNanosecondsPerByte);
}

double cross_entropy_of(std::span<const float> logits, std::int32_t target) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return top + std::log(sum) - logits[static_cast<std::size_t>(target)];
}

/// Returns the program inputs for a batch of rows.
NamedTensors inputs_of(const SpanAnswerer& model, std::span<const SpanRow* const> rows) {
  std::vector<const TextRow*> texts;
  std::vector<std::int32_t> start, end;
  for (const SpanRow* row : rows) {
    texts.push_back(&row->text);
    start.push_back(row->start);
    end.push_back(row->end);
  }
  const TextReader reader = model.reader();
  NamedTensors inputs = reader.inputs(texts);
  inputs.emplace_back("start_positions", Tensor::of({std::ssize(rows)}, start));
  inputs.emplace_back("end_positions", Tensor::of({std::ssize(rows)}, end));
  return inputs;
}

}  // namespace

SpanRows span_rows(const SpanAnswerer& model, const SquadData& data) {
  const std::vector<std::int64_t> places = evenly_spread(data.size(), 0);
  std::vector<std::vector<SpanRow>> found(places.size());
  std::vector<std::uint8_t> seen(places.size());
  for_questions(data, places, [&](std::size_t i) {
    ReadQuestion read = read_question(model, data, places[i], i);
    seen[i] = read.targets.seen ? 1 : 0;
    for (std::size_t w = 0; w < read.windows.size(); ++w) {
      const SpanTargets::Ends& ends = read.targets.ends[w];
      found[i].push_back({std::move(read.windows[w].row), ends.start, ends.end});
    }
  });
  SpanRows result{{}, data.size(), 0};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SquadQuestion& asked = data.questions[static_cast<std::size_t>(places[i])];
    result.unseen += !asked.answers.empty() && seen[i] == 0 ? 1 : 0;
    std::move(found[i].begin(), found[i].end(), std::back_inserter(result.rows));
  }
  return result;
}

SpanAnsweringScores score_spans(Session& session, const SpanAnswerer& model, const SquadData& data,
                                std::int64_t most) {
  if (data.size() == 0) throw DataError("there are no questions to evaluate on");
  const std::vector<std::int64_t> places = evenly_spread(data.size(), most);
  std::vector<ReadQuestion> read(places.size());
  for_questions(data, places,
                [&](std::size_t i) { read[i] = read_question(model, data, places[i], i); });
  std::vector<Question> questions;
  std::vector<SpanWindow> windows;
  std::vector<SpanTargets::Ends> ends;  // one per window
  for (ReadQuestion& one : read) {
    questions.push_back(std::move(one.question));
    std::move(one.windows.begin(), one.windows.end(), std::back_inserter(windows));
    ends.insert(ends.end(), one.targets.ends.begin(), one.targets.ends.end());
  }
  AnswerOptions options;
  if (data.unanswered() > 0) options.no_answer = 0;
  SpanAnsweringScores scores;
  WeightedMean mean;
  const auto found = answer_windows(
      session, model, questions, windows, model.spans, options,
      [&](std::size_t w, std::span<const float> start, std::span<const float> end) {
        mean.add((cross_entropy_of(start, ends[w].start) + cross_entropy_of(end, ends[w].end)) / 2,
                 1);
      });
  scores.loss = mean.value();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SquadQuestion& asked = data.questions[static_cast<std::size_t>(places[i])];
    // A context without tokens has no answer.
    scores.found.push_back(found[i].empty() ? Answer{.none = true} : found[i].front());
    scores.answers.add(scores.found.back().text, asked.answer_texts());
  }
  return scores;
}

Evaluation evaluation_of(const SpanAnsweringScores& scores) {
  return {scores.loss,
          {{"exact_match", scores.answers.exact_match()}, {"f1", scores.answers.f1()}}};
}

TrainTask span_answering_task(Session& session, const SpanAnswerer& model, const SpanRows& train,
                              const SquadData& held_out) {
  if (train.rows.empty()) throw DataError("there are no questions to train on");
  TrainTask task =
      train_task(model, "windows",
                 [&model, &train, epochs = Epochs(std::ssize(train.rows), model.settings.seed)](
                     const BatchPart& part) {
                   std::vector<const SpanRow*> rows;
                   for (const std::int64_t place : epochs.examples(part, model.settings.batch))
                     rows.push_back(&train.rows[static_cast<std::size_t>(place)]);
                   return TrainBatch{inputs_of(model, rows), std::ssize(rows)};
                 });
  if (held_out.size() > 0) {
    task.evaluate = [&session, &model, &held_out](bool whole) {
      const std::int64_t most = whole ? 0 : model.settings.eval_batches * model.settings.batch;
      return evaluation_of(score_spans(session, model, held_out, most));
    };
  }
  return task;
}

std::string format_answers(Session& session, const SpanAnswerer& model, const SquadData& data,
                           std::int64_t most) {
  most = std::min(most, data.size());
  if (most == 0) return {};
  const std::vector<Answer> found = score_spans(session, model, data, most).found;
  const std::vector<std::int64_t> places = evenly_spread(data.size(), most);
  const auto shown = [](bool none, const std::string& text) {
    return none ? "(no answer)" : "'" + excerpt(text) + "'";
  };
  std::string lines;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SquadQuestion& asked = data.questions[static_cast<std::size_t>(places[i])];
    const bool none = asked.answers.empty();
    lines += fmt::format("{}  {}, expected {}\n", excerpt(asked.question),
                         shown(found[i].none, found[i].text),
                         shown(none, none ? "" : asked.answers.front().text));
  }
  return lines;
}

}  // namespace weft
