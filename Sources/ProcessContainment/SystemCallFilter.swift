import CContainment

/// The filter of a contained process's system calls, as a program of classic BPF (seccomp(2)).
///
/// Calls that take over other processes, reach other machines or start programs are refused with EPERM. All others work
/// as before; `FileRules` restricts files.
struct SystemCallFilter {
    private static let allow = UInt32(SECCOMP_RET_ALLOW)
    private static let refuse = UInt32(SECCOMP_RET_ERRNO) | UInt32(EPERM)
    /// The answer to `clone3`, which makes glibc start threads with `clone`, whose flags a filter can see.
    private static let absent = UInt32(SECCOMP_RET_ERRNO) | UInt32(ENOSYS)
    private static let kill = UInt32(bitPattern: Int32(truncatingIfNeeded: SECCOMP_RET_KILL_PROCESS))

    /// Offsets in `struct seccomp_data`, of its number, its architecture and the lower half of an argument.
    private static let numberOffset: UInt32 = 0
    private static let architectureOffset: UInt32 = 4
    private static func argument(_ index: UInt32) -> UInt32 { 16 + 8 * index }

    /// Numbers from here on belong to x32, which would evade the filter.
    private static let foreignNumbers: UInt32 = 0x4000_0000
    private static let cloneThread: UInt32 = 0x0001_0000

    /// Returns the BPF program.
    /// - Parameters:
    ///   - process: Number of the process, which may signal itself.
    ///   - allowsSockets: Whether sockets may be opened.
    static func program(process: UInt32, allowsSockets: Bool = false) -> [sock_filter] {
        var program = [
            load(architectureOffset),
            jump(BPF_JEQ, containment_architecture(), ifTrue: 1, ifFalse: 0),
            end(kill),
            load(numberOffset),
            jump(BPF_JGE, foreignNumbers, ifTrue: 0, ifFalse: 1),
            end(refuse),
        ]
        var count = 0
        let refused = containment_refused_calls(&count)
        for index in 0..<count where !(allowsSockets && containment_is_socket_call(refused[index]) != 0) {
            program += on(refused[index], [end(refuse)])
        }
        program += on(containment_call_clone3(), [end(absent)])
        program += on(
            containment_call_clone(),
            [load(argument(0)), jump(BPF_JSET, cloneThread, ifTrue: 1, ifFalse: 0), end(refuse), end(allow)])
        for call in [containment_call_kill(), containment_call_tgkill()] {
            program += on(call, [load(argument(0))] + allowing([process]))
        }
        program += on(containment_call_prlimit(), [load(argument(0))] + allowing([0, process]))
        return program + [end(allow)]
    }

    /// Returns instructions that end with `body` for one system call, and continue after it for any other.
    private static func on(_ call: Int32, _ body: [sock_filter]) -> [sock_filter] {
        [jump(BPF_JEQ, UInt32(call), ifTrue: 0, ifFalse: UInt8(body.count))] + body
    }

    /// Returns instructions that allow the call if the loaded value is one of these.
    private static func allowing(_ values: [UInt32]) -> [sock_filter] {
        values.flatMap { [jump(BPF_JEQ, $0, ifTrue: 0, ifFalse: 1), end(allow)] } + [end(refuse)]
    }

    private static func load(_ offset: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_LD | BPF_W | BPF_ABS), jt: 0, jf: 0, k: offset)
    }

    private static func jump(_ kind: Int32, _ value: UInt32, ifTrue: UInt8, ifFalse: UInt8) -> sock_filter {
        sock_filter(code: UInt16(BPF_JMP | BPF_K | kind), jt: ifTrue, jf: ifFalse, k: value)
    }

    private static func end(_ action: UInt32) -> sock_filter {
        sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: action)
    }
}
