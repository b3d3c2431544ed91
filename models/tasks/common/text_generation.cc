#include "weft/models/tasks/common/text_generation.h"

#include <numeric>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/text_list.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/generate/stop_texts.h"
#include "weft/models/tasks/common/serialised_texts.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/training/run_distributed.h"

namespace weft {

TextGeneration::TextGeneration(TextGenerator& generator, std::vector<TokenIds> prompts,
                               const GenerationOptions& options)
    : generator_(&generator),
      prompts_(std::move(prompts)),
      start_(options.start),
      stop_texts_(options.stop_texts),
      truncated_(generator.fit_prompts(prompts_, options)),
      results_(prompts_.size()) {
  if (generator.has_tokenizer() || !stop_texts_.empty())
    tokenizer_ = std::make_unique<const Tokenizer>(generator.tokenizer().targets());
  if (tokenizer_ && tokenizer_->reads_characters()) {
    for (const std::string& text : stop_texts_)
      static_cast<void>(tokenizer_->encode(text));  // throws if it cannot occur
  }
  std::vector<std::size_t> sizes, order(prompts_.size());
  for (const TokenIds& prompt : prompts_) sizes.push_back(prompt.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto most = static_cast<std::size_t>(options.batch);
  // Samples depend on the row index, so sampled rows keep their order.
  if (order.size() > most && !options.sampling) order = by_length(sizes);
  for (const std::size_t i : order) {
    GenerationOptions own = generator.options_for(prompts_[i], options);
    if (batches_.empty() || batches_.back().prompts.size() == most ||
        own.max_new != batches_.back().options.max_new ||
        own.max_length != batches_.back().options.max_length) {
      Batch& batch = batches_.emplace_back(Batch{{}, std::move(own)});
      batch.options.stop_texts.clear();
      if (options.sampling)
        batch.options.sampling->first_row += static_cast<std::int64_t>(i) * options.results;
    }
    batches_.back().prompts.push_back(i);
  }
}

const TokenIds& TextGeneration::front(std::size_t prompt) const {
  return generator_->continues() ? prompts_[prompt] : start_;
}

void TextGeneration::start_batch() {
  const Batch& batch = batches_[batch_];
  const auto results = static_cast<std::size_t>(batch.options.results);
  std::vector<TokenIds> prompts;
  rows_.clear();
  for (const std::size_t p : batch.prompts) {
    prompts.push_back(prompts_[p]);
    for (std::size_t i = 0; i < results; ++i) {
      const auto no_text = [](std::span<const std::int32_t>) { return std::string(); };
      rows_.push_back({p, p * results + i,
                       tokenizer_ ? TextStream(*tokenizer_, front(p)) : TextStream(no_text)});
    }
  }
  ids_.emplace(generator_->decode(prompts, batch.options));
}

std::optional<TextPiece> TextGeneration::next() {
  for (;;) {
    if (!rest_.empty()) {
      TextPiece piece = std::move(rest_.front());
      rest_.pop_front();
      return piece;
    }
    if (!ids_) {
      if (batch_ == batches_.size()) return std::nullopt;
      start_batch();
    }
    if (const auto token = ids_->next()) {
      Row& row = rows_[static_cast<std::size_t>(token->row)];
      row.ids.push_back(token->id);
      if (!stop_texts_.empty() &&
          ends_with_stop_text(stop_texts_, *tokenizer_, front(row.prompt), row.ids))
        ids_->stop(token->row);
      return TextPiece{row.number, row.text.add(token->id)};
    }
    finish_batch();
  }
}

void TextGeneration::finish_batch() {
  const GenerationOptions& options = batches_[batch_].options;
  const SearchResult found = ids_->run();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    WrittenText& result = results_[row.prompt].emplace_back();
    result.ids = std::move(row.ids);
    if (tokenizer_) {
      const std::string before = tokenizer_->decode(front(row.prompt));
      result.text = tokenizer_->decode(found.sequences[r]).substr(before.size());
    }
    if (!found.scores.empty()) result.score = found.scores[r];
    if (row.cancelled) {
      result.finish = Finish::cancelled;
    } else if (!result.ids.empty() && options.is_end(result.ids.back())) {
      result.finish = Finish::end;
    } else if (ends_with_any(result.ids, options.stop_sequences) ||
               contains_any(result.text, stop_texts_)) {
      result.finish = Finish::stop;
    }
    rest_.push_back({row.number, row.text.finish()});
  }
  ids_.reset();
  ++batch_;
}

void TextGeneration::stop(std::size_t number) {
  for (std::size_t r = 0; ids_ && r < rows_.size(); ++r) {
    if (rows_[r].number == number && ids_->stop(static_cast<std::int64_t>(r)))
      rows_[r].cancelled = true;
  }
}

void TextGeneration::run_batch(std::size_t batch) {
  batch_ = batch;
  start_batch();
  while (ids_) next();
  rest_.clear();
}

std::vector<WrittenText> TextGeneration::run() {
  const World& world = generator_->world();
  if (world.size() == 1 || batch_ > 0 || ids_) {
    while (next()) {
    }
  } else {
    distribute_over_ranks(
        world, std::ssize(batches_),
        [&](std::int64_t b) {
          run_batch(static_cast<std::size_t>(b));
          std::string made;
          for (const std::size_t p : batches_[static_cast<std::size_t>(b)].prompts)
            append_text(made, serialise(results_[p]));
          return made;
        },
        [&](std::int64_t b, const std::string& made) {
          const std::vector<std::string> texts = split_texts(made);
          const Batch& batch = batches_[static_cast<std::size_t>(b)];
          for (std::size_t i = 0; i < batch.prompts.size(); ++i)
            results_[batch.prompts[i]] = parse_written_texts(texts.at(i));
        });
    batch_ = batches_.size();
  }
  std::vector<WrittenText> all;
  for (const std::vector<WrittenText>& results : results_)
    all.insert(all.end(), results.begin(), results.end());
  return all;
}

}  // namespace weft
