#include "weft/models/tasks/common/text_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/text_list.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/stop_texts.h"
#include "weft/models/tasks/common/serialised_texts.h"
#include "weft/models/tasks/common/truncate_ids.h"
#include "weft/models/text/tokenizers/text_stream.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

bool ends_with_one(const TokenIds& ids, const std::vector<TokenIds>& ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const TokenIds& end) {
    return ids.size() >= end.size() && std::equal(end.rbegin(), end.rend(), ids.rbegin());
  });
}

}  // namespace

/// A batch of prompts, and their indices among all prompts.
struct TextGenerator::Batch {
  std::vector<std::size_t> places;
  std::vector<TokenIds> prompts;
  GenerationOptions options;
};

void TextGenerator::set_task(std::string_view name) {
  static const GenerationSettings kNothing;
  task_ = &(settings() == nullptr ? kNothing : *settings()).task(name);
}

const GenerationOptions& TextGenerator::default_options() const {
  return task_ == nullptr ? settings()->options : task_->options;
}

bool TextGenerator::has_length_setting() const {
  return task_ == nullptr ? settings()->states_length : task_->states_length;
}

std::vector<TokenIds> TextGenerator::read_all(const std::vector<std::string>& texts) const {
  static_cast<void>(
      tokenizer());  // report a missing tokenizer as a model error, not as a text error
  std::vector<TokenIds> prompts;
  for (const std::string& text : texts)
    prompts.push_back(with_number(prompts.size(), [&] { return read(text); }));
  return prompts;
}

std::vector<WrittenText> TextGenerator::write(const std::vector<std::string>& texts,
                                              const WriteOptions& options, const OnText& on_text) {
  return write_ids(read_all(texts), options, on_text);
}

GenerationOptions TextGenerator::options_for(const TokenIds& prompt,
                                             const WriteOptions& options) const {
  GenerationOptions result = usual(prompt);
  if (options.change) options.change(result);
  result.check();
  return result;
}

std::vector<TokenIds> TextGenerator::fitted(std::vector<TokenIds> prompts,
                                            const WriteOptions& options) const {
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::int64_t size = std::ssize(prompts[p]);
    // A decoder needs room for at least one id after the prompt.
    const std::int64_t most = continues() ? context() - 1 : context();
    if (size <= most || options_for(prompts[p], options).slide) continue;
    std::int64_t kept = most;
    if (continues() && options.on_cut) {
      const GenerationOptions usual = options_for({prompts[p].front()}, options);
      kept = context() - std::clamp<std::int64_t>(length_rules(usual, 1).max - 1, 1, context() / 2);
    }
    report_truncation(
        {p, size, kept}, options.on_cut,
        continues() ? "the model, which needs room for output, accepts" : "the model accepts");
    prompts[p] = cut_prompt(prompts[p], kept);
  }
  return prompts;
}

TokenIds TextGenerator::cut_prompt(const TokenIds& prompt, std::int64_t kept) const {
  return truncate_ids(prompt, kept, has_tokenizer() ? &tokenizer() : nullptr,
                      continues() ? TextEnd::left : TextEnd::right);
}

TokenIds TextGenerator::start_of(const TokenIds& given) const {
  if (continues()) return {};
  return given.empty() ? start() : given;
}

std::vector<WrittenText> TextGenerator::write_ids(const std::vector<TokenIds>& given,
                                                  const WriteOptions& options,
                                                  const OnText& on_text) {
  if (options.batch < 1)
    throw ArgumentError(fmt::format("batch must be at least 1, not {}", options.batch));
  const std::vector<TokenIds> prompts = fitted(given, options);
  std::vector<GenerationOptions> each;
  std::vector<std::size_t> sizes;
  for (const TokenIds& prompt : prompts) {
    each.push_back(options_for(prompt, options));
    sizes.push_back(prompt.size());
  }
  const auto most = static_cast<std::size_t>(options.batch);
  std::vector<std::size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Samples depend on the row index, so sampled rows keep their order.
  if (prompts.size() > most && !each.front().sampling) order = by_length(sizes);
  std::vector<Batch> batches;
  for (std::size_t first = 0; first < order.size();) {
    Batch& batch = batches.emplace_back(Batch{{}, {}, each[order[first]]});
    const auto goes_along = [&](std::size_t i) {
      return each[i].max_new == batch.options.max_new &&
             each[i].max_length == batch.options.max_length;
    };
    for (; first < order.size() && batch.places.size() < most && goes_along(order[first]);
         ++first) {
      batch.places.push_back(order[first]);
      batch.prompts.push_back(prompts[order[first]]);
    }
  }
  std::vector<std::vector<WrittenText>> written(prompts.size());
  if (world_.size() == 1 || on_text) {
    for (const Batch& batch : batches) write_batch(batch, options, on_text, written);
  } else {
    write_on_ranks(batches, options, written);
  }
  std::vector<WrittenText> all;
  for (std::vector<WrittenText>& results : written)
    std::move(results.begin(), results.end(), std::back_inserter(all));
  return all;
}

void TextGenerator::write_on_ranks(const std::vector<Batch>& batches, const WriteOptions& options,
                                   std::vector<std::vector<WrittenText>>& written) {
  distribute_over_ranks(
      world_, std::ssize(batches),
      [&](std::int64_t b) {
        const Batch& batch = batches[static_cast<std::size_t>(b)];
        write_batch(batch, options, {}, written);
        std::string made;
        for (const std::size_t place : batch.places) append_text(made, serialise(written[place]));
        return made;
      },
      [&](std::int64_t b, const std::string& made) {
        const std::vector<std::string> texts = split_texts(made);
        const std::vector<std::size_t>& places = batches[static_cast<std::size_t>(b)].places;
        for (std::size_t i = 0; i < places.size(); ++i)
          written[places[i]] = parse_written_texts(texts.at(i));
      });
}

void TextGenerator::write_batch(const Batch& batch, const WriteOptions& write_options,
                                const OnText& on_text,
                                std::vector<std::vector<WrittenText>>& written) {
  const Tokenizer text = tokenizer().targets();
  GenerationOptions options = batch.options;
  const auto results = static_cast<std::size_t>(options.results),
             rows = batch.prompts.size() * results;
  const TokenIds start = start_of(write_options.start);
  if (options.sampling)
    options.sampling->first_row = static_cast<std::int64_t>(batch.places.front() * results);
  /// Returns the first ids of a row's sequence.
  const auto front = [&](std::size_t row) -> const TokenIds& {
    return continues() ? batch.prompts[row / results] : start;
  };
  const auto number = [&](std::size_t row) {
    return batch.places[row / results] * results + row % results;
  };
  std::vector<TokenIds> fronts;
  for (std::size_t p = 0; p < batch.prompts.size(); ++p) fronts.push_back(front(p * results));
  stop_at(write_options.stop, text, fronts, options);
  options.check();

  const bool streams = on_text && (options.beams == 1 || results == 1);
  std::vector<TextStream> texts;
  for (std::size_t row = 0; streams && row < rows; ++row) texts.emplace_back(text, front(row));
  std::vector<bool> cancelled(rows);
  OnToken on_token;
  if (streams) {
    on_token = [&](std::int64_t r, std::int64_t id) {
      const auto row = static_cast<std::size_t>(r);
      cancelled[row] = !on_text(number(row), texts[row].add(id));
      return !cancelled[row];
    };
  }
  const SearchResult found = generate(batch.prompts, start, options, on_token);
  for (std::size_t row = 0; row < rows; ++row) {
    const TokenIds& sequence = found.sequences[row];
    WrittenText& one = written[batch.places[row / results]].emplace_back();
    one.ids.assign(sequence.begin() + std::ssize(front(row)), sequence.end());
    one.text = text.decode(sequence).substr(text.decode(front(row)).size());
    if (!found.scores.empty()) one.score = found.scores[row];
    if (cancelled[row]) {
      one.finish = Finish::cancelled;
    } else if (!one.ids.empty() && options.is_end(one.ids.back())) {
      one.finish = Finish::end;
    } else if (ends_with_one(one.ids, options.stop_sequences) ||
               contains_any(one.text, write_options.stop)) {
      one.finish = Finish::stop;
    }
    if (on_text) on_text(number(row), streams ? texts[row].finish() : one.text);
  }
}

}  // namespace weft
