// Generation for many requests that join and leave a running batch.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/generate/finish.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/next_id.h"
#include "weft/models/generate/options.h"
#include "weft/models/generate/slots.h"
#include "weft/models/generate/speculation.h"
#include "weft/models/generate/structured/constraint.h"

namespace WEFT_API weft {

/// A new id of a request, or the error that ended it.
struct RequestToken {
  std::int64_t request = 0, id = 0;
  double log_probability = 0;         // if it was requested; see NewToken
  std::vector<ScoredToken> top = {};  // the alternatives that were requested
  std::int64_t cached = 0;            // tokens of the prompt with reused keys and values
  std::optional<Finish> finish = {};  // the reason, if the request ends with this id
  std::exception_ptr error = {};      // returned by step() only; there is no id then
};

/// Generates ids for many requests with one model (continuous batching). Requests are added and
/// cancelled at any time, each with its own prompt and options:
///
///   BatchGenerator batch(session, gpt.slots_program(tokens), gpt.config(), {.slots = 8});
///   const std::int64_t request = batch.add(prompt, {.max_new = 20});
///   while (const auto token = batch.next()) use(token->request, token->id, token->finish);
///
/// Each run of the model yields an id for every running request. New requests wait for a free slot
/// and for blocks of the caches, in the order in which they were added. Their prompts are processed
/// in chunks: each run processes at most `chunk` tokens of prompts together with the steps of the
/// other requests. If the blocks do not suffice for all texts, the newest one is preempted: it
/// gives up its blocks, waits, and is processed again.
///
/// The ids of a request depend only on its prompt and its options: they are the ids that a
/// Generator returns for the prompt alone, unless scores are equal up to rounding.
/// In a batch-invariant session, they do not depend on the other requests at all.
class BatchGenerator {
 public:
  /// Same arguments and errors as DecodeSlots.
  BatchGenerator(Session& session, const Program& program, const GptConfig& config,
                 const DecodeSlotsOptions& options = {})
      : slots_(session, program, config, options),
        config_(config),
        workers_({.threads = session.options().threads}) {}

  /// Adds a request and returns its number (0, 1, 2, ...). Nothing is computed before next().
  /// Samples are those of row 0 of a Generator (see SamplingOptions::first_row). Throws
  /// ArgumentError if the prompt is empty, an id is not in the vocabulary, the longest possible
  /// sequence exceeds the capacity of a slot, or an option is invalid or not supported: beams and
  /// results above 1, slide, reuse_caches, start, stop_texts. `top` is the number of alternatives
  /// that are returned with each id; -1 = not even its log-probability. `adapter` is passed to
  /// DecodeSlots::add().
  std::int64_t add(TokenIds prompt, const GenerationOptions& options = {}, std::int64_t top = -1,
                   std::int64_t adapter = 0);

  /// Speculative decoding: each run of the model checks up to `most` ids that `proposer` proposes
  /// for the running texts. Texts do not change, but each run can yield several ids of a text.
  void speculate(std::unique_ptr<Proposer> proposer, std::int64_t most) {
    speculation_.emplace(std::move(proposer), most);
  }
  /// Returns the counters of speculative decoding, or null without it.
  const Speculation* speculation() const { return speculation_ ? &*speculation_ : nullptr; }

  /// Throws what add() would throw. Any thread may call this function at any time.
  void check(const TokenIds& prompt, const GenerationOptions& options) const;

  /// Returns the next id of any request, or nothing if no request is left. Runs the model if
  /// necessary. Throws DataError if the logits of a request are not finite or its options exclude
  /// every id; the message names the request, which has then ended, and the others continue with
  /// the next call. If a run of the model throws, all requests are unchanged.
  std::optional<RequestToken> next();
  /// For callers that deliver the ids of many requests: returns the ids that next() has not
  /// returned yet or, if all have been returned, those of the next run of the model. The result is
  /// empty if the run only processes prompts. Errors of requests are returned instead of being
  /// thrown.
  std::vector<RequestToken> step();

  /// Ends a request, wherever it is; next() returns no more ids for it. Returns false if it had
  /// already ended. Throws ArgumentError if there was never such a request.
  bool cancel(std::int64_t request);

  /// Returns true if a request would not have to wait. Throws the same exceptions as check().
  bool can_start(const TokenIds& prompt, const GenerationOptions& options) const {
    return waiting() == 0 && fits(std::ssize(prompt), checked_lengths(prompt, options).max);
  }
  /// Runs the model on the largest batches, so that later runs need no more memory. May be called
  /// before the first request.
  void run_largest() { slots_.run_largest(speculation_ ? Speculation::kRows : 1); }
  const DecodeSlots& slots() const { return slots_; }
  /// Returns the number of times that a request was preempted.
  std::int64_t preempted() const { return preempted_; }
  /// Return the number of requests that have a slot, and of those that wait for one.
  std::int64_t running() const { return slots_.options().slots - slots_.free_slots(); }
  std::int64_t waiting() const { return std::ssize(requests_) - running(); }

 private:
  struct Request {
    TokenIds ids;  // the prompt and the new ids
    GenerationOptions options;
    LengthRules lengths;
    std::int64_t top, adapter;
    std::int64_t prompt;  // number of ids that are processed in chunks, not one by one
    std::optional<ConstraintState> constraint = {};
    std::int64_t slot = -1;    // none: it waits
    std::int64_t cached = -1;  // tokens of the prompt that were reused; -1 = it has not started
  };
  using Requests = std::map<std::int64_t, Request>;

  LengthRules checked_lengths(const TokenIds& prompt, const GenerationOptions& options) const;
  /// Returns the number of ids of a running request that are not in the caches: 1 or, for prompts,
  /// more.
  std::int64_t pending(const Request& request) const;
  /// Returns true if there is a slot, and blocks for a text of `tokens` tokens, which grows to
  /// `longest` tokens, in addition to the running ones. One text always fits.
  bool fits(std::int64_t tokens, std::int64_t longest) const;
  void start_waiting();
  void preempt_newest();
  void advance();
  /// A request of a step, and its part of the step. Its logits are those after its last id and
  /// after each proposed id.
  struct Selected {
    Requests::iterator request;
    std::size_t part;
    std::int64_t row = 0;  // of its first logits
    TokenIds proposed = {};
  };
  /// Adds proposed ids to the parts of a step, if there are enough blocks after the `taken` ones.
  void add_proposals(std::vector<SlotTokens>& tokens, std::vector<Selected>& selected,
                     std::int64_t taken);
  /// Selects the next ids of requests, and ends requests with their last id.
  void select(const std::vector<Selected>& selected, const Tensor& logits);
  /// Selects the next ids of one request: one, and another one after each accepted proposal.
  std::vector<RequestToken> next_tokens(const Selected& selected, const Tensor& logits,
                                        std::vector<double>& scores);
  void end(Requests::iterator request);

  DecodeSlots slots_;
  GptConfig config_;
  std::int64_t added_ = 0, preempted_ = 0;
  Requests requests_;  // by number, which is also the order of waiting requests
  std::deque<RequestToken> ready_;
  Workers workers_;
  std::optional<Speculation> speculation_;
  std::vector<std::vector<double>> scores_;  // a buffer for each worker
};

}  // namespace weft
