// Message transfers over MPI. Internal; used only by the thread that owns MPI.
#pragma once

// Omit the C++ bindings, which MPI has removed.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "weft/core/world/transport.h"

namespace weft {

struct MpiTransfer : Transfer::State {
  std::size_t pieces = 0;  // not yet transferred
  bool over = false;       // set by the thread that owns MPI on completion
  bool done = false;       // read by waiting threads; guarded by a mutex
};

struct MpiMessage {
  bool send;
  int other, channel;
  std::byte* data;
  std::size_t bytes;
  std::shared_ptr<MpiTransfer> transfer = nullptr;
  // For a forwarding send: the receive that must complete first.
  std::shared_ptr<MpiTransfer> received = nullptr;
};

/// Returns true if `code` is MPI_SUCCESS. Otherwise poisons the world with a message that the MPI
/// operation `what` (for example "a send") failed, and returns false. `self` is this rank's
/// endpoint.
bool mpi_ok(Transport& self, int code, std::string_view what);

/// Transfers messages in pieces. A line is a queue of all sends to one rank on one channel, or of
/// all receives from one rank on one channel. The pieces of a line are started in order, and the
/// number of bytes in flight is limited. MPI shares a link among all started transfers, so without
/// a limit the first of many messages would arrive at the same time as the last. Pieces for other
/// hosts are small enough for MPI's eager protocol, which requires no rendezvous with the receiver.
/// In a rendezvous, the receiver's reply would be queued after the data that the receiver is
/// sending. Two ranks that send to each other would then send one after the other.
class MpiMessages {
 public:
  struct Piece {
    std::shared_ptr<MpiTransfer> transfer;
    bool send;
    int other, channel;
    std::size_t at, bytes, of;  // offset in the message, size, and size of the whole message
  };
  /// The number of pieces whose sends to a rank have at least started, and the number of pieces
  /// that have been received from it.
  struct Counts {
    std::uint64_t sent = 0, received = 0;
  };

  /// `self` is this rank's endpoint, which is poisoned if MPI fails or if the size of a message
  /// does not match its receive.
  MpiMessages(MPI_Comm comm, Transport& self);

  /// Starts transferring a message, or queues it after earlier ones of its rank and channel.
  /// Channels are independent of one another. Returns false on failure.
  bool start(const MpiMessage& message);
  /// Returns the transfers that have completed since the last call. Sets `any` to true if any piece
  /// has completed, otherwise to false.
  std::vector<std::shared_ptr<MpiTransfer>> finish(bool& any);

  const std::vector<Piece>& in_flight() const { return pieces_; }
  /// Returns true if no piece is in flight and no message is waiting.
  bool idle() const { return pieces_.empty() && lines_.empty(); }
  const Counts& counts(int other) const { return counts_[static_cast<std::size_t>(other)]; }

 private:
  // Limits for the transfers of a line, in bytes.
  struct FlowLimits {
    std::size_t piece;  // maximum size of a piece
    // A further piece is started only if fewer bytes than this are in flight.
    std::size_t sends, receives;
  };
  // The messages of a line, in the order of the calls of start().
  struct Line {
    std::size_t pieces = 0, bytes = 0;  // in flight
    std::deque<MpiMessage> waiting = {};
    std::size_t at = 0;  // started bytes of the first waiting message
  };

  const FlowLimits& limits_of(int other) const { return limits_[static_cast<std::size_t>(other)]; }
  bool begin_piece(Line& line);
  bool begin_next(Line& line);
  bool begin_next();  // for all lines
  Piece& finished_piece(int i) {
    return pieces_[static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)])];
  }
  void check_finished(int i, int code);
  void drop_finished();

  const MPI_Comm comm_;
  Transport& self_;
  std::vector<MPI_Request> requests_;
  std::vector<Piece> pieces_;       // parallel to requests_
  std::vector<Counts> counts_;      // by rank
  std::vector<FlowLimits> limits_;  // by rank
  // By direction (true = send), rank and channel. Contains only lines with pieces in flight or
  // waiting messages.
  std::map<std::tuple<bool, int, int>, Line> lines_;
  std::vector<int> indices_;  // indices of the requests that have completed
  std::vector<MPI_Status> statuses_;
};

}  // namespace weft
