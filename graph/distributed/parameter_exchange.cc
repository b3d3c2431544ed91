#include "weft/graph/distributed/parameter_exchange.h"

#include <cstring>
#include <exception>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/exchange.h"

namespace weft {
namespace {

constexpr int kParameterChannel = 3;

}  // namespace

std::shared_ptr<ParameterExchange> ParameterExchange::begin(const OwnedStep& step,
                                                            const World& world,
                                                            VariableStore& shared) {
  std::shared_ptr<ParameterExchange> exchange(new ParameterExchange(world, shared));
  StoreAccess access(shared);
  const auto lock = access.write_lock();
  access.check_whole();
  exchange->take(step, access);
  access.set_pending(exchange);
  return exchange;
}

ParameterExchange::~ParameterExchange() {
  try {
    if (state_ == State::published) wait_for_all();
  } catch (const std::exception&) {  // the parameters no longer have readers
  }
}

void ParameterExchange::take(const OwnedStep& step, StoreAccess& access) {
  for (std::size_t r = 0; r < step.pieces.size(); ++r) {
    for (const OwnedPiece& of_unit : step.pieces[r]) {
      for (const std::string& name : step.units[of_unit.unit].parameters) {
        auto it = parameters_.find(name);
        if (it == parameters_.end()) it = parameters_.emplace(name, access.writable(name)).first;
        Tensor& whole = it->second;
        const std::size_t size = dtype_size(whole.dtype());
        const std::size_t begin = static_cast<std::size_t>(of_unit.begin) * size;
        const std::size_t bytes =
            of_unit.whole ? whole.bytes()
                          : static_cast<std::size_t>(of_unit.end - of_unit.begin) * size;
        const int rank = static_cast<int>(r);
        if (rank == transport_.rank()) own_.emplace(shard_names::updated(name), pieces_.size());
        pieces_.push_back(
            {.name = name, .rank = rank, .place = std::span(whole.mutable_raw() + begin, bytes)});
      }
    }
  }
}

Tensor ParameterExchange::old_value(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = parameters_.find(name);
  return it == parameters_.end() ? Tensor() : it->second;
}

void ParameterExchange::publish(const std::string& output, const Tensor& piece) {
  const std::lock_guard lock(mutex_);
  const auto it = own_.find(output);
  if (it == own_.end() || pieces_[it->second].own.defined()) return;
  pieces_[it->second].own = piece;
  start_transfers();
  send_published();
}

void ParameterExchange::start_transfers() {
  if (state_ != State::begun) return;
  state_ = State::moving;
  for (Piece& piece : pieces_) {
    if (!mine(piece) && !piece.place.empty())
      piece.pending =
          receive_broadcast(world_, kParameterChannel, piece.rank, piece.place, piece.sent);
  }
}

void ParameterExchange::send_published() {
  for (; next_ < pieces_.size(); ++next_) {
    Piece& piece = pieces_[next_];
    if (!mine(piece) || piece.place.empty()) continue;
    if (!piece.own.defined()) return;
    start_broadcast(world_, kParameterChannel, {piece.own.raw(), piece.own.bytes()}, piece.sent);
  }
}

bool ParameterExchange::moving() const {
  const std::lock_guard lock(mutex_);
  return state_ != State::begun;
}

void ParameterExchange::finish(const Results& own) {
  for (const auto& [output, value] : own) publish(output, value);
  {
    const std::lock_guard lock(mutex_);
    start_transfers();
    for (const Piece& piece : pieces_) {
      if (mine(piece) && !piece.place.empty())
        std::memcpy(piece.place.data(), piece.own.raw(), piece.place.size());
    }
  }
  {
    StoreAccess access(shared_);
    const auto lock = access.write_lock();
    for (const auto& [name, value] : parameters_) access.updated(name);
  }
  const std::lock_guard lock(mutex_);
  state_ = State::published;
  changed_.notify_all();
}

void ParameterExchange::abandon() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::begun) {
    state_ = State::abandoned;
    parameters_.clear();
  } else if (state_ == State::moving) {
    mark_lost("the step that updates the parameters has failed");
  }
  changed_.notify_all();
}

void ParameterExchange::mark_lost(std::string_view why) {
  state_ = State::lost;
  why_lost_ = why;
  changed_.notify_all();
}

bool ParameterExchange::has_arrived(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (state_ > State::published) return true;
  if (parameters_.find(name) == parameters_.end()) return true;
  if (state_ != State::published) return false;
  for (const Piece& piece : pieces_) {
    if (piece.name == name && piece.pending.state() != nullptr) return false;
  }
  return true;
}

bool ParameterExchange::have_all_arrived() const {
  const std::lock_guard lock(mutex_);
  return state_ > State::published;
}

void ParameterExchange::wait_for(const std::vector<Transfer>& transfers,
                                 std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  try {
    for (const Transfer& t : transfers) transport_.wait(t);
    lock.lock();
  } catch (const std::exception& e) {
    lock.lock();
    mark_lost(e.what());
    throw;
  }
}

void ParameterExchange::wait(std::string_view name) {
  std::unique_lock lock(mutex_);
  if (parameters_.find(name) == parameters_.end()) return;
  changed_.wait(lock, [&] { return state_ >= State::published; });
  if (state_ == State::lost) throw WorldError(why_lost_);
  if (state_ != State::published) return;
  std::vector<Transfer> pending;
  for (const Piece& piece : pieces_) {
    if (piece.name == name) pending.push_back(piece.pending);
  }
  wait_for(pending, lock);
  for (Piece& piece : pieces_) {
    if (piece.name == name) piece.pending = {};
  }
}

void ParameterExchange::wait_for_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ >= State::published; });
  if (state_ == State::lost) throw WorldError(why_lost_);
  if (state_ != State::published) return;
  std::vector<Transfer> open;
  for (const Piece& piece : pieces_) {
    open.push_back(piece.pending);
    open.insert(open.end(), piece.sent.begin(), piece.sent.end());
  }
  wait_for(open, lock);
  if (state_ != State::published) return;
  state_ = State::done;
  pieces_.clear();
  own_.clear();
  parameters_.clear();  // handles would prevent in-place writes in the next step
}

bool ParameterExchange::lost() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::lost;
}

}  // namespace weft
