import Foundation

/// Errors that are thrown in this process.
///
/// Swift Testing keeps a backtrace of each of them, for the case that a test fails of it: some hundred bytes for every
/// refused request, which a measurement of memory would take for the service's.
enum ThrownErrors {
    /// Lets nobody keep anything of errors thrown from now on.
    static func forget() {
        setWillThrowHandler(nil)
        // The same for errors of typed throws, for which there is no function.
        guard let handler = dlsym(nil, "_swift_willThrowTypedImpl") else { return }
        handler.assumingMemoryBound(to: UnsafeRawPointer?.self).pointee = nil
    }
}

/// Sets the function that the runtime calls for each error that is thrown (`swift/Runtime/Error.h`).
@_silgen_name("_swift_setWillThrowHandler")
private func setWillThrowHandler(_ handler: UnsafeRawPointer?)
