import CGStreamer

/// The callbacks that receive an appsink's samples.
struct SampleReceiver: Sendable {
    let onSample: @Sendable (borrowing Sample) -> Void
    let onEndOfStream: @Sendable () -> Void
}

/// Replaces the callbacks of `sink` and releases the box of the old ones.
func setSampleCallbacks(of sink: UnsafeMutablePointer<GstAppSink>, _ receiver: SampleReceiver) {
    var callbacks = GstAppSinkCallbacks()
    callbacks.new_sample = onNewSample
    callbacks.eos = onEndOfStream
    gst_app_sink_set_callbacks(sink, &callbacks, CallbackBox.retain(receiver), releaseBox)
}

/// Releases the receiver.
func clearSampleCallbacks(of sink: UnsafeMutablePointer<GstAppSink>) {
    var callbacks = GstAppSinkCallbacks()
    gst_app_sink_set_callbacks(sink, &callbacks, nil, nil)
}

private func onNewSample(
    _ sink: UnsafeMutablePointer<GstAppSink>?, _ data: UnsafeMutableRawPointer?
) -> GstFlowReturn {
    guard let sink, let receiver = CallbackBox<SampleReceiver>.peek(data),
        let pointer = gst_app_sink_pull_sample(sink)
    else { return GST_FLOW_OK }
    if let sample = Sample(adopting: pointer) { receiver.onSample(sample) }
    return GST_FLOW_OK
}

private func onEndOfStream(_ sink: UnsafeMutablePointer<GstAppSink>?, _ data: UnsafeMutableRawPointer?) {
    CallbackBox<SampleReceiver>.peek(data)?.onEndOfStream()
}
