import CGStreamer

/// Creates the pipeline of a description as for `gst-launch-1.0`, without starting it.
///
/// - Parameters:
///   - name: Name in GStreamer's logs and in errors.
/// - Throws: `.missingElement` or `.syntax`, if the pipeline cannot be created.
func pipelineRoot(_ description: String, name: String) throws(GStreamerError) -> ObjectRef<GstElement> {
    try GStreamerRuntime.start()
    var error: UnsafeMutablePointer<GError>?
    let parsed = gst_parse_launch(description, &error)
    if let error {
        // A partial result may come with the error.
        if let parsed { _ = ObjectRef(sinking: parsed) }
        let isMissing =
            error.pointee.domain == gst_parse_error_quark()
            && error.pointee.code == Int32(GST_PARSE_ERROR_NO_SUCH_ELEMENT.rawValue)
        let text = consumingText(of: error)
        if isMissing {
            let element = text.split(separator: "\"").dropFirst().first.map(String.init) ?? text
            throw GStreamerError(.missingElement, "\(name): \(MissingElement(name: element))")
        }
        throw GStreamerError(.syntax, "\(name): \(text)")
    }
    guard let parsed else { throw GStreamerError(.syntax, "\(name): the description is empty") }
    let root: ObjectRef<GstElement>
    if cgst_is_pipeline(parsed) != 0 {
        root = ObjectRef(sinking: parsed)
    } else {
        guard let pipeline = gst_pipeline_new(nil) else {
            throw GStreamerError(.resource, "\(name): the pipeline cannot be created")
        }
        root = ObjectRef(sinking: pipeline)
        gst_bin_add(cgst_bin(pipeline), parsed)
    }
    cgst_set_name(root.pointer, name)
    return root
}

extension ObjectRef<GstElement> {
    /// Sends the messages of this pipeline's bus to `sink`, which may then be called on any of its threads.
    func report(to sink: BusSink, name: String) throws(GStreamerError) {
        guard let bus = cgst_pipeline_bus(pointer) else {
            throw GStreamerError(.resource, "\(name): the pipeline has no bus")
        }
        gst_bus_set_sync_handler(bus, onBusMessage, CallbackBox.retain(sink), releaseBox)
        gst_object_unref(bus)
    }

    /// Ends `report(to:name:)` and releases the sink.
    func stopReporting() {
        guard let bus = cgst_pipeline_bus(pointer) else { return }
        gst_bus_set_sync_handler(bus, nil, nil, nil)
        gst_object_unref(bus)
    }
}
