/// A time before which none of many deadlines passes. Pure; all times are in ns of one clock.
///
/// Deadlines are postponed far more often than they pass, such as one that every packet of a source postpones. Postponing
/// one does not move the bound, so that it costs nothing. A wait until such a bound would end without anything to do, which
/// costs a sleeping thread nearly as much as a packet: `isDoubtful` says when the bound is better computed anew.
struct DeadlineBound<Holder: AnyObject> {
    /// Time before the bound from which it may be doubtful. Before longer waits, something else usually ends the wait, and
    /// computing the bound would cost a look at every deadline.
    static var near: Int64 { 50_000_000 }

    /// The bound; `.max` if there are no deadlines.
    private(set) var time = Int64.max
    /// The holder of the deadline that set the bound; `nil` if it was forgotten.
    private var holder: Holder?

    /// Adds a deadline, or one that is now earlier.
    mutating func expect(_ deadline: Int64, of holder: Holder) {
        guard deadline < time else { return }
        time = deadline
        self.holder = holder
    }

    /// Removes the reference to a holder whose deadlines no longer count.
    mutating func forget(_ holder: Holder) {
        if self.holder === holder { self.holder = nil }
    }

    /// Returns whether a wait until the bound is short and would end for a deadline that has been postponed or forgotten.
    ///
    /// - Parameter deadline: Returns a holder's current deadline.
    func isDoubtful(at now: Int64, deadline: (Holder) -> Int64) -> Bool {
        guard time != .max, time - now < Self.near else { return false }
        return holder.map(deadline) != time
    }
}
