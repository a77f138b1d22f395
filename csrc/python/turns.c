/* turns.c - the turns of a run, as a capsule. */
#include "core/turns.h"

#include "module.h"

static const char NAME[] = "hpccfpga._core.turns";

static void capsule_free(PyObject *capsule) {
    hf_turns_free(PyCapsule_GetPointer(capsule, NAME));
}

PyObject *core_turns(PyObject *module, PyObject *args) {
    const char *bench;
    PyObject *params;
    hf_args *values;
    hf_turns *turns;
    int whole = 0;
    if (!PyArg_ParseTuple(args, "sO!|p:turns", &bench, &PyDict_Type, &params, &whole))
        return NULL;
    hf_status status = args_fill(&values, bench, params);
    if (status == HF_OK) {
        status = hf_turns_new(&turns, values, whole);
        hf_args_free(values);
    }
    if (status != HF_OK)
        return status_raise(PyModule_GetState(module), status);
    PyObject *capsule = PyCapsule_New(turns, NAME, capsule_free);
    if (!capsule)
        hf_turns_free(turns);
    return capsule;
}

int turns_of(hf_turns **out, PyObject *turns) {
    *out = turns == Py_None ? NULL : PyCapsule_GetPointer(turns, NAME);
    return *out || turns == Py_None ? 0 : -1;
}

PyObject *core_turns_left(PyObject *module, PyObject *turns) {
    (void)module;
    hf_turns *of = PyCapsule_GetPointer(turns, NAME);
    return of ? PyLong_FromSize_t(hf_turns_left(of)) : NULL;
}
