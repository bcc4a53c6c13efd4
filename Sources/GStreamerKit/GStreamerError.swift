/// A failure of GStreamer. The message names the object concerned and GStreamer's own reason.
public struct GStreamerError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Hashable, Sendable {
        /// `gst_init` failed.
        case initialization
        /// An element type is not installed; the message names the Debian package where that is known.
        case missingElement
        /// A pipeline description, caps or property text could not be understood.
        case syntax
        /// No element, property or field has that name, or it has another type.
        case notFound
        /// The pipeline refused to change its state.
        case stateChange
        /// Memory or a buffer was not available, or a task exceeded its time.
        case resource
    }

    public let code: Code
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
