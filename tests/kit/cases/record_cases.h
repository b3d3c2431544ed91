// What must hold for every use of every record: one case each. All return what is wrong, "" if
// nothing, and "" for cases that the op refuses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/tests/kit/cases/vary_sample.h"

namespace weft::testing {

// -- The record, and its kernel alone
// ---------------------------------------------------------------

/// It has documentation, samples, and a rule, a definition or a reason for having neither; what it
/// says of memory fits its operands.
std::string check_complete(const OpRecord& op);

/// The error sample gives its message, with the op in front, an operand and the user's line.
std::string check_error_sample(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                               const OpErrorSample& sample);

/// The kernel touches only its operands and its scratch, with a page that nobody may touch on
/// either side of each; gives the same bits in any order of chunks, at any alignment, with outputs
/// that nobody reads and in place, as the record allows; its costs are sane numbers.
std::string check_kernel(const OpRecord& op, const OpSample& sample, Draw& draw);

/// What the kernel gives in double; empty for ops that draw or round by design.
std::vector<Tensor> double_results(const OpRecord& op, const OpSample& sample);
/// The kernel gives these to 2e-5 of the largest.
std::string check_against_double(const OpRecord& op, const OpSample& sample,
                                 const std::vector<Tensor>& in_double);

// -- In graphs
// ---------------------------------------------------------------------------------------

/// The kernel gives what OpRecord::definition gives, in double to 1e-10.
std::string check_definition(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                             const OpSample& sample);

/// Gradients agree with differences, now and then those of second order, too.
std::string check_differences(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                              const OpSample& sample, Draw& draw);

/// Among other ops, with operands of all kinds and symbols for sizes, the op gives the same bits in
/// every way in which a Session may run it: passes, threads, orders, poison, budget, other runs.
std::string check_neighbours(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                             const OpSample& sample, Draw& draw);
/// The same of its gradients.
std::string check_gradient_ways(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                                const OpSample& sample, Draw& draw);

/// Text, and now and then a file in `folder`, gives the same program back.
std::string check_round_trip_of(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                                const OpSample& sample, Draw& draw, const std::string& folder);

}  // namespace weft::testing
